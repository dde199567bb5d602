"""Intercepts calls to the tracker, made by a thread or by a worker's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from unittest import mock

from shared.tracker.answers import Answer
from shared.tracker.client import Request, TrackerClient


@dataclass(frozen=True)
class Call:
    """A call that is about to be made.

    Attributes:
        make: makes the call; False skips the check right before sending.
    """

    method: str
    path: str
    make: Callable[[bool], Answer]


@contextmanager
def around_calls(do: Callable[[Call], Answer]) -> Iterator[None]:
    """Let a function carry out each call; it may act before it, after it, or instead of it.

    Args:
        do: gets the call, in a thread without an event loop, and returns its response.
    """
    send = TrackerClient.send

    async def sent(self: TrackerClient, request: Request) -> Answer:
        loop = asyncio.get_running_loop()

        def make(checks: bool) -> Answer:
            made = send(self, request if checks else replace(request, before_send=None))
            return asyncio.run_coroutine_threadsafe(made, loop).result()

        return await asyncio.to_thread(do, Call(request.method, request.path, make))

    with mock.patch.object(TrackerClient, "send", sent):
        yield
