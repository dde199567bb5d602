"""Reads the bodies of requests, limited in size, time and number, before anything else processes them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope

from producer.http.problems import Problem
from producer.http.sources import source_of
from shared.notices.deliveries import Undelivered
from shared.values.ids import read_id

LARGEST_BODY = 1024 * 1024
LARGEST_DELIVERY = 16 * LARGEST_BODY
"""The largest body of a help desk's own webhooks, whose texts may contain whole pictures."""
LONGEST_ENCODING = 40
BODY_S = 10.0
MOST_AT_ONCE = 100
"""Maximum number of bodies that are read at the same time, and so of MiB of memory for those of up to 1 MiB."""
MOST_LARGE = 4
"""Maximum number of larger ones among them."""

SLOWEST = 10_000
"""Expected bytes per second: a slower sender falls behind, a faster one gets ahead."""


@dataclass(eq=False)
class Reading:
    """A body that is being read.

    Attributes:
        source: the source that sends it.
        began: when it began, in seconds.
        cut: aborts it.
        size: bytes received so far.
    """

    source: str
    began: float
    cut: Callable[[], None]
    size: int = 0

    @property
    def is_large(self) -> bool:
        """Whether it is larger than bodies usually may be."""
        return self.size > LARGEST_BODY

    @property
    def behind(self) -> float:
        """Seconds behind a sender of the slowest expected speed; negative if it is ahead."""
        return time.monotonic() - self.began - self.size / SLOWEST


class Bodies:
    """Reads whole bodies. If there are too many at once, it aborts the slowest one of the source with the most.

    An honest sender's body arrives within a moment, so a client that trickles loses its place. The next client and a
    slow but honest one keep theirs.

    Args:
        seconds: time limit for a whole body.
        most: maximum number of bodies that are read at the same time.
    """

    def __init__(self, *, seconds: float = BODY_S, most: int = MOST_AT_ONCE) -> None:
        self._seconds, self._most = seconds, most
        self._readings: list[Reading] = []

    def expect(self, scope: Scope, largest: int = LARGEST_BODY) -> None:
        """Refuse a body by its headers, before it is read.

        Args:
            scope: the request.
            largest: maximum number of bytes.

        Raises:
            Problem: 413 if it is too large, 415 if it is compressed: a small one may expand to any number of bytes.
        """
        headers = Headers(scope=scope)
        encoding = headers.get("content-encoding", "").strip().lower()
        if encoding not in ("", "identity"):
            raise _encoded(encoding)
        if _length(headers) > largest:
            raise too_large(largest)

    async def read(self, scope: Scope, receive: Receive, largest: int = LARGEST_BODY) -> bytes:
        """Read a request's body.

        Args:
            scope: the request.
            receive: reads the next piece of it.
            largest: maximum number of bytes.

        Raises:
            Problem: as `expect`, before anything is read; 413 if too large, 408 if too slow, 400 if cut off.
        """
        self.expect(scope, largest)
        source = source_of((scope.get("client") or ("",))[0])
        try:
            async with asyncio.timeout(self._seconds) as limit:
                reading = Reading(source, time.monotonic(), lambda: limit.reschedule(0))
                self._readings.append(reading)
                try:
                    self._make_room(self._readings, self._most)
                    return await self._collect(reading, receive, largest)
                finally:
                    if reading in self._readings:
                        self._readings.remove(reading)
        except TimeoutError:
            raise Problem(
                408,
                "Too slow",
                f"the whole body must come within {self._seconds:g} seconds, and sooner where many send at once",
                why=Undelivered.BODY_TOO_SLOW(seconds=self._seconds),
                headers={"Connection": "close"},
            ) from None

    def _make_room(self, readings: list[Reading], most: int) -> None:
        for _ in range(len(readings) - most):
            left = [one for one in readings if one in self._readings]
            many = Counter(one.source for one in left)
            slowest = max(left, key=lambda one: (many[one.source], one.behind))
            self._readings.remove(slowest)
            slowest.cut()

    async def _collect(self, reading: Reading, receive: Receive, largest: int) -> bytes:
        content = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Problem(
                    400, "The request body is incomplete", "send it again", why=Undelivered.BODY_CUT_OFF()
                )
            content += message.get("body", b"")
            was_large, reading.size = reading.is_large, len(content)
            if reading.size > largest:
                raise too_large(largest)
            if reading.is_large and not was_large:
                self._make_room([one for one in self._readings if one.is_large], MOST_LARGE)
            more = message.get("more_body", False)
        return bytes(content)


def too_large(largest: int = LARGEST_BODY) -> Problem:
    """Return the refusal of a body that is too large."""
    why = Undelivered.BODY_TOO_LARGE(most=largest)
    return Problem(
        413, "Too large", f"at most {largest} bytes are allowed; send fewer events at once", why=why
    )


def _encoded(encoding: str) -> Problem:
    """Return the refusal of a body that is compressed, or encoded otherwise."""
    why = Undelivered.BODY_ENCODED(encoding=encoding[:LONGEST_ENCODING])
    return Problem(415, "Content-Encoding is not supported", "send the body uncompressed", why=why)


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that hands out a body that was read already."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return left.pop() if left else await receive()

    return replay


def _length(headers: Headers) -> int:
    return read_id(headers.get("content-length", "")) or 0
