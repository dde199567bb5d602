"""The body of an answer: as a whole, never larger than is read, and of a form that everyone reads alike."""

from __future__ import annotations

import zlib
from http import HTTPStatus

from aiohttp import ClientResponse, HttpVersion10, HttpVersion11

LARGEST_ANSWER = 16 * 1024 * 1024
"""Bytes, as they come and decompressed."""
VERSIONS = (HttpVersion10, HttpVersion11)
GZIP = 16 + zlib.MAX_WBITS


class AnswerCut(Exception):
    """The compressed body is not whole."""


class AnswerTooLarge(Exception):
    """There is more of it than is read."""


class AnswerUnreadable(Exception):
    """It is no answer of HTTP/1.1, or could be read in two ways."""


async def whole_body(response: ClientResponse) -> bytes:
    """Read the body of an answer; aiohttp itself would take a compressed one that was cut.

    Raises:
        AnswerUnreadable, AnswerTooLarge, AnswerCut, zlib.error: it is none that is taken.
        ClientError: the connection ended before it did.
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
