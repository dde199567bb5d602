"""Reads the body of an answer: completely, within a size limit, and only if its framing is unambiguous."""

from __future__ import annotations

import zlib
from http import HTTPStatus

from aiohttp import ClientResponse, HttpVersion10, HttpVersion11

LARGEST_ANSWER = 16 * 1024 * 1024
"""Limit in bytes, both as received and decompressed."""
VERSIONS = (HttpVersion10, HttpVersion11)
GZIP = 16 + zlib.MAX_WBITS


class AnswerCut(Exception):
    """The compressed body is incomplete."""


class AnswerTooLarge(Exception):
    """The body is larger than the limit."""


class AnswerUnreadable(Exception):
    """The answer is not a final one of HTTP/1.0 or 1.1, or its framing is ambiguous."""


async def whole_body(response: ClientResponse) -> bytes:
    """Read the body of an answer; aiohttp itself would accept a truncated compressed one.

    Raises:
        AnswerUnreadable, AnswerTooLarge, AnswerCut, zlib.error: if the answer is not acceptable.
        ClientError: if the connection ends before the body.
    """
    codings = response.headers.getall("Transfer-Encoding", ())
    is_read = response.version in VERSIONS and all(one.lower() == "chunked" for one in codings)
    if not is_read or response.status < HTTPStatus.OK:
        raise AnswerUnreadable
    content = bytearray()
    async for piece in response.content.iter_any():
        content += piece
        if len(content) > LARGEST_ANSWER:
            raise AnswerTooLarge
    if response.headers.get("Content-Encoding", "").strip().lower() != "gzip":
        return bytes(content)
    inflating = zlib.decompressobj(GZIP)
    inflated = inflating.decompress(content, LARGEST_ANSWER + 1)
    if len(inflated) > LARGEST_ANSWER:
        raise AnswerTooLarge
    if not inflating.eof:
        raise AnswerCut
    return inflated
