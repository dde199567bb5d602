"""Reads the bodies of requests: limited in size, in time and in number, before anything else looks at them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import Message, Receive

from producer.web.problems import Problem

LARGEST_BODY = 1024 * 1024
BODY_S = 10.0
MOST_AT_ONCE = 100
"""Bodies that are read at the same time: so many MiB of memory at most."""


class Bodies:
    """Reads whole bodies. Where too many come at once, the one that takes the longest makes room.

    An honest sender's body is there within a moment, so whoever trickles loses its place, not whoever comes next.

    Args:
        largest: bytes of a body.
        seconds: time in which the whole of it must have come.
        most: bodies that are read at the same time.
    """

    def __init__(
        self, *, largest: int = LARGEST_BODY, seconds: float = BODY_S, most: int = MOST_AT_ONCE
    ) -> None:
        self._largest, self._seconds, self._most = largest, seconds, most
        self._reading: dict[object, Callable[[], None]] = {}

    async def read(self, headers: Headers, receive: Receive) -> bytes:
        """Read a request's body.

        Raises:
            Problem: 413 too large (told by its length before anything is read), 408 too slow, 400 cut off.
        """
        if _length(headers) > self._largest:
            raise self._too_large()
        reading = object()
        try:
            async with asyncio.timeout(self._seconds) as limit:
                self._reading[reading] = lambda: limit.reschedule(0)
                self._make_room()
                return await self._collect(receive)
        except TimeoutError:
            raise Problem(
                408,
                "Too slow",
                f"the whole body must come within {self._seconds:g} seconds, and sooner where many send at once",
                headers={"Connection": "close"},
            ) from None
        finally:
            self._reading.pop(reading, None)

    def _make_room(self) -> None:
        while len(self._reading) > self._most:
            self._reading.pop(next(iter(self._reading)))()

    async def _collect(self, receive: Receive) -> bytes:
        content = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Problem(400, "The body was cut off", "send it again")
            content += message.get("body", b"")
            if len(content) > self._largest:
                raise self._too_large()
            more = message.get("more_body", False)
        return bytes(content)

    def _too_large(self) -> Problem:
        return Problem(413, "Too large", f"at most {self._largest} bytes; send less at once")


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that hands out a body that was read already."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return left.pop() if left else await receive()

    return replay


def _length(headers: Headers) -> int:
    text = headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
