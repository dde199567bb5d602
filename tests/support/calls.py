"""Something done around the calls to the tracker, whoever makes them: a thread, or a worker's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from shared.tracker.answers import Answer
from shared.tracker.client import TrackerClient


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
    call, acall = TrackerClient.call, TrackerClient.acall

    def called(self: TrackerClient, method: str, path: str, **options: Any) -> Answer:
        return do(Call(method, path, lambda checks: call(self, method, path, **_options(options, checks))))

    async def called_on_the_loop(self: TrackerClient, method: str, path: str, **options: Any) -> Answer:
        loop = asyncio.get_running_loop()

        def make(checks: bool) -> Answer:
            made = acall(self, method, path, **_options(options, checks))
            return asyncio.run_coroutine_threadsafe(made, loop).result()

        return await asyncio.to_thread(do, Call(method, path, make))

    with (
        mock.patch.object(TrackerClient, "call", called),
        mock.patch.object(TrackerClient, "acall", called_on_the_loop),
    ):
        yield


def _options(options: dict[str, Any], checks: bool) -> dict[str, Any]:
    return options if checks else {**options, "before_send": None}
