"""The load generator counts only accepted events; any answer but 202 ends the run and is quoted in the error."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile

import pytest

from tests.bench.errors import BrokenRun
from tests.bench.load import CONNECTIONS, post
from tests.bench.workload import Delivery

GIVEN = Delivery(b"[" + b" " * 400_000 + b"]", {"webhook-id": "one"}, 7)
ACCEPTED = b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}"
SMALL = Delivery(b"{}", {"webhook-id": "two"}, 1)


@contextmanager
def answering(*pieces: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Serve connections that answer each request with these pieces; yield the port, and the received requests."""
    asked: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0), backlog=CONNECTIONS)

    def serve(connection: socket.socket) -> None:
        with suppress(ConnectionError), connection, connection.makefile("rb") as stream:
            while head := b"".join(takewhile(b"\r\n".__ne__, iter(stream.readline, b""))):
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                asked.append(head + stream.read(length))
                for piece in pieces:
                    connection.sendall(piece)
                if not pieces:
                    return

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1], asked
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


@pytest.mark.parametrize(
    "pieces", [[ACCEPTED], [ACCEPTED[:9], ACCEPTED[9:30], ACCEPTED[30:-1], ACCEPTED[-1:]]]
)
def test_every_delivery_is_posted_once_and_read_to_the_end(pieces: list[bytes]) -> None:
    with answering(*pieces) as (port, asked):
        posted = post(port, [GIVEN] * 10 + [SMALL] * 90)
    assert (posted.events, len(posted.waited)) == (160, 100)
    assert sorted(map(len, asked))[-10:] == [len(asked[0])] * 10
    assert asked[0].endswith(b"webhook-id: one\r\n" + GIVEN.body)
    assert all(0 < one <= posted.seconds for one in posted.waited)


def test_nothing_is_begun_once_the_time_is_over() -> None:
    with answering(ACCEPTED) as (port, asked):
        posted = post(port, [SMALL] * 500, seconds=0)
    assert posted.events == len(asked) == CONNECTIONS


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        ([b"HTTP/1.1 503 Down\r\ncontent-length: 4\r\n\r\nback", b" soon"], "503.*back"),
        ([b"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"], "length"),
        ([ACCEPTED + ACCEPTED], "status 202"),
        ([], "closed"),
    ],
)
def test_another_answer_breaks_the_run_with_its_words(pieces: list[bytes], words: str) -> None:
    with answering(*pieces) as (port, _), pytest.raises(BrokenRun, match=words):
        post(port, [SMALL] * 40)
