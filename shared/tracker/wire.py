"""HTTP/1.1 as the tracker is spoken to: a request as bytes, and answers out of bytes, without any socket.

The parser (llhttp, by way of httptools) does not know how large an answer may be, nor that a connection has ended, and
takes more than HTTP/1.1; that is known here (decision 2).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

LARGEST_ANSWER = 16 * 1024 * 1024

LARGEST_HEAD = 64 * 1024
"""So many bytes may come in a row of which nothing is body: heads, the sizes of chunks, trailers."""

MOST_HEADERS = 100
VERSIONS = ("1.0", "1.1")
WITH_A_BODY = ("POST", "PUT")
GZIP = 16 + zlib.MAX_WBITS

ONE_WORD = re.compile(r"[!-~]+")
NOT_IN_A_LINE = re.compile(rb"[\x00\r\n]")


class AnswerCut(ConnectionError):
    """The connection ended before the answer did."""


class AnswerTooLarge(ConnectionError):
    """There is more of it than is read."""


class AnswerUnreadable(ConnectionError):
    """It is not HTTP/1.1, or could be read in two ways."""


def request(
    method: str, url: str, host: bytes, headers: Mapping[str, str | bytes], body: bytes | None
) -> bytes:
    """Return a request as it is sent.

    Args:
        method: HTTP method.
        url: path and query, in ASCII.
        host: the value of the header Host.
        headers: beside Host and Content-Length; texts in Latin-1.
        body: what is sent with it.

    Raises:
        ValueError: a part of it would end its line, or cannot be written in it; it does not say which.
    """
    if not (ONE_WORD.fullmatch(method) and ONE_WORD.fullmatch(url)):
        raise ValueError("a method or an address that no request can have")
    lines = [f"{method} {url} HTTP/1.1".encode(), b"Host: " + host]
    if body is not None or method in WITH_A_BODY:
        lines.append(b"Content-Length: %d" % len(body or b""))
    for name, value in headers.items():
        lines.append(
            b"%s: %s" % (name.encode(), value if isinstance(value, bytes) else value.encode("latin-1"))
        )
    if any(map(NOT_IN_A_LINE.search, lines)):
        raise ValueError("a header that no request can have")
    return b"\r\n".join([*lines, b"", body or b""])


class Answers:
    """What one connection says, one answer after the other.

    Attributes:
        is_whole: whether the answer that is asked for is there.
        keeps: whether the connection may be used for another one.
    """

    def __init__(self) -> None:
        self.is_whole, self.keeps = False, True
        self._why: Exception | None = None
        self._fruitless = 0
        self._forget()
        self._parser = HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        """Take what came; what follows a whole answer only ends the connection.

        Raises:
            AnswerTooLarge, AnswerUnreadable: it makes no answer.
        """
        self._fruitless += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self.keeps = False
            if not self.is_whole:
                raise self._why or AnswerUnreadable() from None
        if self._fruitless > LARGEST_HEAD and not self.is_whole:
            raise AnswerTooLarge

    def end(self) -> None:
        """Take it that nothing more comes: an answer without a length ends so.

        Raises:
            AnswerCut: the answer is not whole.
        """
        self.keeps = False
        if self._status < 200 or not self._headers.keys().isdisjoint(("Content-Length", "Transfer-Encoding")):
            raise AnswerCut
        self.is_whole = True

    def take(self) -> tuple[int, dict[str, str], bytes]:
        """Return the whole answer, and be ready for the next one.

        Returns:
            Status, headers and body. The first of headers of one name counts; names are written `Content-Type`, however
            they came.

        Raises:
            AnswerCut, AnswerTooLarge, zlib.error: its compressed body is not whole, or too large.
        """
        status, headers, content = self._status, self._headers, bytes(self._body)
        self.is_whole, self._fruitless = False, 0
        self._forget()
        if headers.get("Content-Encoding", "").lower() == "gzip":
            content = _inflated(content)
        return status, headers, content

    def on_message_begin(self) -> None:
        """Begin with an answer; there is none to a question that was not asked."""
        if self.is_whole:
            self._refuse(AnswerUnreadable())
        self._forget()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; those that follow a body are none of the answer's."""
        self._count += 1
        if self._count > MOST_HEADERS:
            self._refuse(AnswerTooLarge())
        if not self._status:
            self._headers.setdefault(name.decode("latin-1").title(), value.decode("latin-1").strip(" \t"))

    def on_headers_complete(self) -> None:
        """Take an answer that is HTTP/1.1, and whose body everybody reads alike."""
        status, coding = self._parser.get_status_code(), self._headers.get("Transfer-Encoding", "chunked")
        is_read = coding.lower() == "chunked" and self._parser.get_http_version() in VERSIONS
        if not is_read or status < 100:
            self._refuse(AnswerUnreadable())
        self._status, self.keeps = status, self._parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._fruitless = 0
        self._body += body
        if len(self._body) > LARGEST_ANSWER:
            self._refuse(AnswerTooLarge())

    def on_message_complete(self) -> None:
        """Have the answer, unless it only says that one will come (1xx)."""
        self.is_whole = self._status >= 200

    def _forget(self) -> None:
        self._status, self._count = 0, 0
        self._headers: dict[str, str] = {}
        self._body = bytearray()

    def _refuse(self, why: Exception) -> None:
        """Stop the parser; its own error does not tell reliably why."""
        self._why = why
        raise why


def _inflated(content: bytes) -> bytes:
    inflating = zlib.decompressobj(GZIP)
    inflated = inflating.decompress(content, LARGEST_ANSWER + 1)
    if len(inflated) > LARGEST_ANSWER:
        raise AnswerTooLarge
    if not inflating.eof:
        raise AnswerCut
    return inflated
