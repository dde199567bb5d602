"""One address of Redis Sentinel serves both redis-py and kombu."""

from __future__ import annotations

import socket

import pytest
from kombu.transport.redis import SentinelChannel
from pydantic import SecretStr
from redis import Redis
from redis.sentinel import MasterNotFoundError, Sentinel

from shared.notices.invalid import Invalid
from shared.process.sentinels import Sentinels, sentinels
from shared.process.settings import Settings
from shared.queue.celery_app import make_celery
from shared.queue.transport import CheckedMessage
from shared.redis.locks import connected
from shared.values.validation import Unfit

URL = "redis+sentinel://me:p%40ss@one,two:26380,[::1]:26381/3?master=desk&sentinel_password=s3"


def test_an_address_of_a_server_names_no_sentinels() -> None:
    assert sentinels("redis://one,two/0?master=desk") is None


def test_an_address_names_every_sentinel_the_master_and_the_accounts() -> None:
    hosts = (("one", 26379), ("two", 26380), ("::1", 26381))
    assert sentinels(URL) == Sentinels(hosts, "desk", 3, "me", "p@ss", "s3")
    assert sentinels("redis+sentinel://one?master=desk") == Sentinels((("one", 26379),), "desk")


@pytest.mark.parametrize(
    "rest",
    ["one/0", "one/0?master=", "/0?master=desk", "one,/0?master=desk", "one:x/0?master=desk", "one/x?master=desk",
     "one/0?master=desk&db=2", "u:[p@one/0?master=desk"],
)  # fmt: skip
def test_what_names_no_host_no_master_or_no_number_is_refused(rest: str) -> None:
    with pytest.raises(Unfit) as refused:
        sentinels(f"redis+sentinel://{rest}")
    assert refused.value.notice == Invalid.SENTINELS_EXPECTED()


def test_it_shows_no_password() -> None:
    assert "p@ss" not in repr(sentinels(URL))


def test_kombu_is_told_of_each_sentinel_with_account_and_database() -> None:
    app = make_celery(Settings(redis_url=SecretStr(URL)))
    with app.connection_for_write() as connection:
        assert connection.alt == [
            "sentinel://me:p%40ss@one:26379/3",
            "sentinel://me:p%40ss@two:26380/3",
            "sentinel://me:p%40ss@[::1]:26381/3",
        ]
        assert (connection.userid, connection.password, connection.virtual_host) == ("me", "p@ss", "3")
        assert connection.transport_options["master_name"] == "desk"
        asked = connection.transport_options["sentinel_kwargs"]
        assert asked["password"] == "s3"
        assert asked["socket_timeout"]
        assert asked["socket_connect_timeout"]


def test_locks_ask_the_same_sentinels_for_the_same_master() -> None:
    pool = connected(Redis, URL).connection_pool
    told = pool.connection_kwargs
    assert (told["db"], told["username"], told["password"]) == (3, "me", "p@ss")
    assert pool.service_name == "desk"  # type: ignore[attr-defined]
    asked = [one.connection_pool.connection_kwargs for one in pool.sentinel_manager.sentinels]  # type: ignore[attr-defined]
    assert [(one["host"], one["port"], one["password"]) for one in asked] == [
        ("one", 26379, "s3"),
        ("two", 26380, "s3"),
        ("::1", 26381, "s3"),
    ]
    assert all(one["socket_timeout"] and one["socket_connect_timeout"] for one in (told, *asked))


def test_what_comes_by_way_of_sentinels_is_read_as_messages_only() -> None:
    connection = make_celery(Settings(broker_url=SecretStr(URL))).connection_for_read()
    channel = connection.transport.Channel
    assert issubclass(channel, SentinelChannel)
    assert channel.Message is CheckedMessage


def test_rabbitmq_keeps_the_queue_on_several_nodes() -> None:
    app = make_celery(Settings(broker_url=SecretStr("amqp://one//")))
    assert app.conf.task_queues[0].queue_arguments == {"x-queue-type": "quorum"}
    assert make_celery(Settings()).conf.task_queues[0].queue_arguments is None


def test_a_sentinel_that_says_nothing_is_asked_once() -> None:
    """Other sentinels may answer, and repeated requests would delay everything that waits for a lock."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(1)
        named = sentinels(f"redis+sentinel://127.0.0.1:{silent.getsockname()[1]}?master=desk")
        assert named is not None
        patience = {"socket_timeout": 0.1, "socket_connect_timeout": 0.1}
        with pytest.raises(MasterNotFoundError):
            Sentinel(named.hosts, sentinel_kwargs=patience | named.of_sentinel).discover_master("desk")  # type: ignore[no-untyped-call]
        silent.accept()[0].close()
        silent.setblocking(False)
        with pytest.raises(BlockingIOError):
            silent.accept()
