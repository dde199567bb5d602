"""A semaphore whose size changes, and in which some go first: for calls, claims and files."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable


class Slots:
    """So many of something may be held at once.

    Args:
        size: returns how many there are now.
        on_wait: called for each slot that has to be waited for.

    Attributes:
        taken: how many are held.
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
        """Wait for a slot; False: none was taken, since all that wait are to look whether they still may.

        Args:
            has_priority: whether it goes before those that have none.
            patience: seconds to wait at most, then none was taken either; None: as long as it takes.
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
        """Give a slot back; those that are held beyond the size are not handed out again."""
        self.taken -= 1
        self._hand_out()

    def wake(self) -> None:
        """Send all that wait away, to look whether they still may begin."""
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
