"""A semaphore with a variable size and with priorities, for calls, claims and files."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable


class Slots:
    """A limited number of slots that may be held at once.

    Args:
        size: returns the current number of slots.
        on_wait: called for each request that has to wait.

    Attributes:
        taken: the number of slots that are held.
    """

    def __init__(self, size: Callable[[], int], on_wait: Callable[[], None] = lambda: None) -> None:
        self._size, self._on_wait = size, on_wait
        self._waiting, self._first = deque[asyncio.Future[bool]](), deque[asyncio.Future[bool]]()
        self.taken = 0

    @property
    def waiting(self) -> int:
        """How many wait for a slot."""
        return len(self._waiting) + len(self._first)

    async def take(self, *, has_priority: bool = False, patience: float | None = None) -> bool:
        """Wait for a slot; return False if none was taken, because the caller must check that it still may start.

        Args:
            has_priority: whether it goes before requests without priority.
            patience: seconds to wait at most, after which none is taken either; None for no limit.
        """
        if self.taken < self._size() and not self.waiting:
            self.taken += 1
            return True
        self._on_wait()
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        turns = self._first if has_priority else self._waiting
        turns.append(turn)
        if patience is not None:
            loop.call_later(patience, _leave, turns, turn)
        return await turn

    def release(self) -> None:
        """Release a slot; slots that are held beyond the size are not handed out again."""
        self.taken -= 1
        self._hand_out()

    def wake(self) -> None:
        """End all waits without a slot, so that the callers check whether they still may start."""
        for turns in (self._first, self._waiting):
            while turns:
                _set(turns.popleft(), is_taken=False)

    def _hand_out(self) -> None:
        while self.taken < self._size() and (turns := self._first or self._waiting):
            self.taken += _set(turns.popleft(), is_taken=True)


def _leave(turns: deque[asyncio.Future[bool]], turn: asyncio.Future[bool]) -> None:
    if _set(turn, is_taken=False):
        turns.remove(turn)


def _set(turn: asyncio.Future[bool], *, is_taken: bool) -> bool:
    if turn.done():
        return False
    turn.set_result(is_taken)
    return True
