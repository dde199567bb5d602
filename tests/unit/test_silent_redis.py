"""Why no Redis answers: which address was tried, and what is wrong with it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from shared.diagnosis import redis_health
from shared.diagnosis.redis_facts import redis_facts
from shared.notices.render import because, sentence
from shared.process.settings import load_settings
from shared.redis.locks import make_redis


@contextmanager
def server(answer: Callable[[socket.socket], object]) -> Iterator[int]:
    """Serve on a free port, answer each connection alike, and yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(1024)
                    answer(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


def told(url: str) -> tuple[str, str]:
    """Return what is wrong with a Redis, and what to do."""
    patience = {"socket_timeout": 0.3, "socket_connect_timeout": 0.3, "retry": Retry(NoBackoff(), 0)}
    with Redis.from_url(url, **patience) as redis, pytest.raises(RedisError) as failure:
        redis_health.write(redis)
    why = redis_health.why_not_written(redis, failure.value)
    return sentence(why), because(why) or ""


def test_a_plain_redis_that_is_asked_in_tls() -> None:
    ends = threading.Event()
    with server(lambda _: ends.wait(2)) as port:
        what, todo = told(f"rediss://127.0.0.1:{port}/0")
        ends.set()
    assert what == f"does not answer in TLS, which rediss:// requires (127.0.0.1:{port})"
    assert "write redis:// in DESKBRIDGE_REDIS_URL" in todo


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH_9\r\n", b""], ids=["another program", "it hangs up"])
def test_another_server_s_port(answer: bytes) -> None:
    with server(lambda connection: connection.sendall(answer)) as port:
        what, todo = told(f"redis://127.0.0.1:{port}/0")
        in_tls, _ = told(f"rediss://127.0.0.1:{port}/0")
    assert what == f"gave no answer in Redis' protocol (at 127.0.0.1:{port}, which accepts connections)"
    assert "correct host and port in DESKBRIDGE_REDIS_URL" in todo
    assert "TLS" in in_tls or in_tls == what


def test_nothing_at_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    what, _ = told(f"redis://127.0.0.1:{port}/0")
    assert what.endswith(f"(127.0.0.1 refuses connections on port {port})")
    assert told("redis://redis.example.invalid/0")[0].endswith(
        "(the host name redis.example.invalid does not exist)"
    )


def test_the_default_address_is_told_apart() -> None:
    for environ, is_set in (({}, False), ({"DESKBRIDGE_REDIS_URL": "redis://127.0.0.1:1/0"}, True)):
        redis = make_redis(load_settings(environ), lambda: "0")
        redis.connection_pool.connection_kwargs["port"] = 1
        fault = redis_facts(redis).fault
        assert fault
        assert ("because DESKBRIDGE_REDIS_URL is not set" in sentence(fault)) is not is_set
        assert "127.0.0.1 refuses connections on port 1" in sentence(fault)
