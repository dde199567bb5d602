"""Something done around the calls to the tracker, whoever makes them: a thread, or a worker's event loop."""

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
        make: makes it; given False, without what it checks right before it is sent.
    """

    method: str
    path: str
    make: Callable[[bool], Answer]


@contextmanager
def around_calls(do: Callable[[Call], Answer]) -> Iterator[None]:
    """Have a function carry out each call: it may do something before, after or in place of it.

    Args:
        do: is given the call, in a thread that runs no event loop; returns its answer.
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
