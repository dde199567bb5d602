"""Reads the body of an answer: completely, within a size limit, and only if its framing is unambiguous."""

from __future__ import annotations

import zlib
from http import HTTPStatus

from aiohttp import ClientResponse, HttpVersion10, HttpVersion11

LARGEST_ANSWER = 16 * 1024 * 1024
"""Limit in bytes, both as received and decompressed."""
LARGEST_ISSUE = 2 * LARGEST_ANSWER
"""The same limit for an issue that is read with its notes, of which no tracker returns only the newest."""
VERSIONS = (HttpVersion10, HttpVersion11)
GZIP = 16 + zlib.MAX_WBITS


class AnswerCut(Exception):
    """The compressed body is incomplete."""


class AnswerTooLarge(Exception):
    """The body is larger than the limit."""


class AnswerUnreadable(Exception):
    """The answer is not a final one of HTTP/1.0 or 1.1, or its framing is ambiguous."""


async def whole_body(response: ClientResponse, largest: int | None = None) -> bytes:
    """Read the body of an answer; aiohttp itself would accept a truncated compressed one.

    Args:
        response: the answer.
        largest: the limit in bytes; None: `LARGEST_ANSWER`.

    Raises:
        AnswerUnreadable, AnswerTooLarge, AnswerCut, zlib.error: if the answer is not acceptable.
        ClientError: if the connection ends before the body.
    """
    largest = LARGEST_ANSWER if largest is None else largest
    codings = response.headers.getall("Transfer-Encoding", ())
    is_read = response.version in VERSIONS and all(one.lower() == "chunked" for one in codings)
    if not is_read or response.status < HTTPStatus.OK:
        raise AnswerUnreadable
    content = bytearray()
    async for piece in response.content.iter_any():
        content += piece
        if len(content) > largest:
            raise AnswerTooLarge
    if response.headers.get("Content-Encoding", "").strip().lower() != "gzip":
        return bytes(content)
    inflating = zlib.decompressobj(GZIP)
    inflated = inflating.decompress(content, largest + 1)
    if len(inflated) > largest:
        raise AnswerTooLarge
    if not inflating.eof:
        raise AnswerCut
    return inflated
