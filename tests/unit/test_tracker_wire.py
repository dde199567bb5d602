"""What is a whole answer of the tracker, and what is none, byte by byte; and what no request may be made of."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest

from shared.tracker import wire
from shared.tracker.wire import (
    LARGEST_HEAD,
    MOST_HEADERS,
    AnswerCut,
    Answers,
    AnswerTooLarge,
    AnswerUnreadable,
    request,
)

OK = b"HTTP/1.1 200 OK\r\n"
TWO = b"Content-Length: 2\r\n\r\n{}"
LENGTH = b"Content-Length: %d\r\n\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
ZIPPED = gzip.compress(b"{}")


def whole_and_in_pieces(raw: bytes) -> Iterator[list[bytes]]:
    yield [raw]
    yield [raw[at : at + 1] for at in range(len(raw))]


def read(pieces: list[bytes], *, ends: bool = True) -> tuple[int, dict[str, str], bytes, bool]:
    """Return what is read, and whether the connection is kept."""
    answers = Answers()
    for piece in pieces:
        answers.feed(piece)
        if answers.is_whole:
            break
    if ends and not answers.is_whole:
        answers.end()
    assert answers.is_whole
    keeps = answers.keeps
    return *answers.take(), keeps


WHOLE = {
    "a length": (OK + TWO, 200, b"{}", True),
    "no words": (b"HTTP/1.1 200\r\n" + TWO, 200, b"{}", True),
    "words in another alphabet": (b"HTTP/1.1 200 \xc3\xa9\r\n" + TWO, 200, b"{}", True),
    "empty lines before it": (b"\r\n\r\n" + OK + TWO, 200, b"{}", True),
    "chunks": (CHUNKED + b"1\r\n{\r\n1;a=b\r\n}\r\n0\r\n\r\n", 200, b"{}", True),
    "trailers": (CHUNKED + b"2\r\n{}\r\n0\r\nDate: never\r\n\r\n", 200, b"{}", True),
    "no length": (OK + b"\r\n{}", 200, b"{}", False),
    "no length, kept alive": (OK + b"Connection: keep-alive\r\n\r\n{}", 200, b"{}", False),
    "no length, and nothing": (OK + b"\r\n", 200, b"", False),
    "that closes": (OK + b"Connection: close\r\n" + TWO, 200, b"{}", False),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True),
    "not modified": (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", 304, b"", True),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\n" + TWO, 200, b"{}", False),
    "HTTP/1.0, kept alive": (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n" + TWO, 200, b"{}", True),
    "HTTP/1.0, no length": (b"HTTP/1.0 200 OK\r\n\r\n{}", 200, b"{}", False),
    "after 100": (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + TWO, 200, b"{}", True),
    "after 103": (b"HTTP/1.1 103 Early Hints\r\nDate: never\r\n\r\n" + OK + TWO, 200, b"{}", True),
    "after several": (b"HTTP/1.1 102 Processing\r\n\r\n" * 3 + OK + TWO, 200, b"{}", True),
    "that offers another protocol": (OK + b"Upgrade: h2\r\nConnection: Upgrade\r\n" + TWO, 200, b"{}", True),
    "an odd status": (b"HTTP/1.1 999 Odd\r\n" + TWO, 999, b"{}", True),
    "as many headers as may be": (OK + b"X: a\r\n" * (MOST_HEADERS - 1) + TWO, 200, b"{}", True),
    "compressed": (OK + b"Content-Encoding: GZIP \r\n" + LENGTH % len(ZIPPED) + ZIPPED, 200, b"{}", True),
    "compressed, no length": (OK + b"Content-Encoding: gzip\r\n\r\n" + ZIPPED, 200, b"{}", False),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "status", "body", "keeps"), WHOLE.values(), ids=WHOLE.keys())
def test_a_whole_answer_is_read_however_it_comes(
    raw: bytes, status: int, body: bytes, *, keeps: bool
) -> None:
    for pieces in whole_and_in_pieces(raw):
        found, headers, content, kept = read(pieces)
        assert (found, content, kept) == (status, body, keeps)
        assert "Date" not in headers, "neither those of what came before nor those behind the body"


NONE = {
    "nothing": (b"", AnswerCut),
    "empty lines": (b"\r\n\r\n", AnswerCut),
    "garbage": (b"hello\r\n\r\n", AnswerUnreadable),
    "a page without a head": (b"<html><body>Maintenance</body></html>", AnswerUnreadable),
    "of TLS": (b"\x15\x03\x01\x00\x02\x02\x16", AnswerUnreadable),
    "a cut status": (b"HTTP/1.1 20", AnswerCut),
    "a cut head": (OK + b"Content-Type: appl", AnswerCut),
    "a head without its end": (OK + b"Content-Length: 0\r\n", AnswerCut),
    "a cut body": (OK + b"Content-Length: 3\r\n\r\n{}", AnswerCut),
    "a cut chunk": (CHUNKED + b"3\r\n{}", AnswerCut),
    "no last chunk": (CHUNKED + b"2\r\n{}\r\n", AnswerCut),
    "a cut last chunk": (CHUNKED + b"2\r\n{}\r\n0\r\n", AnswerCut),
    "cut trailers": (CHUNKED + b"2\r\n{}\r\n0\r\nX: a\r\n", AnswerCut),
    "a bad chunk": (CHUNKED + b"zz\r\n", AnswerUnreadable),
    "103 alone": (b"HTTP/1.1 103 Early Hints\r\n\r\n", AnswerCut),
    "101": (b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + OK + TWO, AnswerUnreadable),
    "101, in full": (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n" + OK + TWO,
        AnswerUnreadable,
    ),
    "status 99": (b"HTTP/1.1 99 Odd\r\n" + TWO, AnswerUnreadable),
    "status 099": (b"HTTP/1.1 099 Odd\r\n" + TWO, AnswerUnreadable),
    "status 1000": (b"HTTP/1.1 1000 Odd\r\n" + TWO, AnswerUnreadable),
    "HTTP/0.9": (b"HTTP/0.9 200 OK\r\n" + TWO, AnswerUnreadable),
    "HTTP/2.0": (b"HTTP/2.0 200 OK\r\n" + TWO, AnswerUnreadable),
    "two lengths": (OK + b"Content-Length: 2\r\n" + TWO, AnswerUnreadable),
    "a length below nothing": (OK + b"Content-Length: -2\r\n\r\n{}", AnswerUnreadable),
    "a length and chunks": (OK + b"Transfer-Encoding: chunked\r\n" + TWO, AnswerUnreadable),
    "another coding": (OK + b"Transfer-Encoding: gzip\r\n\r\n" + ZIPPED, AnswerUnreadable),
    "two codings": (OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", AnswerUnreadable),
    "chunks, then another coding": (
        OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n",
        AnswerCut,
    ),
    "a folded header": (OK + b"X: a\r\n b\r\n" + TWO, AnswerUnreadable),
    "a header without a name": (OK + b"nonsense\r\n" + TWO, AnswerUnreadable),
    "NUL in a header": (OK + b"X: a\x00\r\n" + TWO, AnswerUnreadable),
    "a bare line feed": (b"HTTP/1.1 200 OK\n" + TWO, AnswerUnreadable),
    "one header too many": (OK + b"X: a\r\n" * MOST_HEADERS + TWO, AnswerTooLarge),
    "trailers without an end": (CHUNKED + b"0\r\n" + b"X: a\r\n" * (MOST_HEADERS + 1), AnswerTooLarge),
    "compressed, not whole": (
        OK + b"Content-Encoding: gzip\r\n" + LENGTH % (len(ZIPPED) - 1) + ZIPPED[:-1],
        AnswerCut,
    ),
}


@pytest.mark.parametrize(("raw", "why"), NONE.values(), ids=NONE.keys())
def test_what_is_no_whole_answer_is_none_however_it_comes(raw: bytes, why: type[Exception]) -> None:
    for pieces in whole_and_in_pieces(raw):
        with pytest.raises(why):
            read(pieces)


@pytest.mark.parametrize(
    "piece",
    [OK + b"X: ", b"HTTP/1.1 103 Early Hints\r\n\r\n", CHUNKED + b"1;", CHUNKED + b"0\r\nX: ", b"\r\n"],
    ids=["a header", "103", "a chunk's extension", "a trailer", "empty lines"],
)
def test_what_never_comes_to_a_body_is_given_up(piece: bytes) -> None:
    answers = Answers()
    answers.feed(piece)
    rest = piece if piece.endswith(b"\r\n") else b"a"
    with pytest.raises(AnswerTooLarge):
        for _ in range(10):
            answers.feed(rest * (LARGEST_HEAD // 8 // len(rest)))


@pytest.mark.parametrize("start", [OK + b"\r\n", OK + b"Content-Length: 9999\r\n\r\n", CHUNKED + b"270f\r\n"])
def test_a_body_is_given_up_as_soon_as_it_is_too_large(monkeypatch: pytest.MonkeyPatch, start: bytes) -> None:
    monkeypatch.setattr(wire, "LARGEST_ANSWER", 1000)
    answers = Answers()
    answers.feed(start + b"a" * 1000)
    with pytest.raises(AnswerTooLarge):
        answers.feed(b"a")


def test_what_is_compressed_is_bounded_as_it_would_be_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "LARGEST_ANSWER", 1000)
    for size in (1000, 1001):
        packed = gzip.compress(b"a" * size)
        raw = OK + b"Content-Encoding: gzip\r\n" + LENGTH % len(packed) + packed
        if size == 1000:
            assert read([raw])[2] == b"a" * size
        else:
            with pytest.raises(AnswerTooLarge):
                read([raw])


def test_the_first_of_headers_of_one_name_counts_however_it_is_written() -> None:
    raw = OK + b"dAtE: \t first \r\nDATE: second\r\nrEtRy-aFtEr: 7\r\nX-\xc3: a\r\n" + TWO
    with pytest.raises(AnswerUnreadable):
        read([raw])
    for pieces in whole_and_in_pieces(raw.replace(b"X-\xc3: a", b"X: \xc3")):
        headers = read(pieces)[1]
        assert headers == {"Date": "first", "Retry-After": "7", "X": "Ã", "Content-Length": "2"}


@pytest.mark.parametrize(
    "more", [OK + TWO, b"a", b"HTTP/1.1 103 Early Hints\r\n\r\n", b"<html>" * 20_000, b"\x00"]
)
@pytest.mark.parametrize(
    "said", [OK + TWO, CHUNKED + b"2\r\n{}\r\n0\r\n\r\n", OK + b"Connection: close\r\n" + TWO]
)
def test_what_follows_an_answer_is_no_part_of_it_and_ends_the_connection(said: bytes, more: bytes) -> None:
    status, _, body, keeps = read([said + more])
    assert (status, body, keeps) == (200, b"{}", False)


def test_one_connection_says_one_answer_after_the_other() -> None:
    answers = Answers()
    for raw, status in [(OK + TWO, 200), (b"HTTP/1.1 204 No Content\r\n\r\n", 204), (OK + TWO, 200)]:
        answers.feed(raw)
        assert answers.is_whole
        assert answers.keeps
        assert answers.take()[0] == status


def test_an_answer_is_given_once() -> None:
    """One that ends with the connection would else be taken for the answer to the next question."""
    answers = Answers()
    answers.feed(b"HTTP/1.1 204 No Content\r\n\r\n")
    answers.take()
    with pytest.raises(AnswerCut):
        answers.end()


def test_a_request_is_written_as_it_is_meant() -> None:
    headers: dict[str, str | bytes] = {"X-Key": "kéy", "X-Person": "jörg".encode()}
    assert request("POST", "/a?b=%20", b"tracker.test:81", headers, b"{}") == (
        b"POST /a?b=%20 HTTP/1.1\r\nHost: tracker.test:81\r\nContent-Length: 2\r\n"
        b"X-Key: k\xe9y\r\nX-Person: j\xc3\xb6rg\r\n\r\n{}"
    )
    assert request("GET", "/", b"a", {}, None) == b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    assert request("PUT", "/", b"a", {}, None) == b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize("evil", ["\r", "\n", "\r\n", "\x00", "\r\nX-Evil: 1", "\n evil"])
@pytest.mark.parametrize("where", ["method", "url", "host", "name", "text", "bytes"])
def test_no_part_of_a_request_makes_a_line_of_its_own(where: str, evil: str) -> None:
    parts = dict.fromkeys(("method", "url", "host", "name", "text", "bytes"), "a")
    parts[where] = f"a{evil}b"
    headers: dict[str, str | bytes] = {parts["name"]: parts["text"], "Other": parts["bytes"].encode()}
    with pytest.raises(ValueError, match="no request can have") as refused:
        request(parts["method"], parts["url"], parts["host"].encode(), headers, None)
    assert "a" + evil not in str(refused.value)


@pytest.mark.parametrize("word", ["", "a b", "a\tb", "ä", "a\x7f"])
def test_method_and_address_are_one_word_each(word: str) -> None:
    for method, url in ((word, "/"), ("GET", word)):
        with pytest.raises(ValueError, match="no request can have"):
            request(method, url, b"a", {}, None)


def test_a_key_that_is_not_latin_1_is_sent_nowhere() -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the encoder's own)
        request("GET", "/", b"a", {"X-Key": "ключ"}, None)
