"""The part of Redis that locks and circuit breakers use, in simulated time; tests can flush it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shared.redis import locks
from tests.model.clock import Clock
from tests.model.stage import Stage


class SimulatedRedis:
    """Keys that expire."""

    def __init__(self, clock: Clock, stage: Stage) -> None:
        self._clock, self._stage = clock, stage
        self._values: dict[str, tuple[str, float]] = {}
        self._tokens = 0

    def get(self, key: str) -> str | None:
        """Return a value, or None if the key does not exist or has expired."""
        self._only_the_living()
        value, end = self._values.get(key, ("", 0.0))
        return value if end > self._clock.now else None

    def getrange(self, key: str, start: int, end: int) -> str:
        """Return a part of a value, or an empty string if the key does not exist."""
        return (self.get(key) or "")[start : end + 1]

    def pttl(self, key: str) -> int:
        """Return how many milliseconds a key still has, or -2 if it does not exist."""
        return -2 if self.get(key) is None else round((self._values[key][1] - self._clock.now) * 1000)

    def set(
        self, key: str, value: str, *, nx: bool = False, ex: float | None = None, px: float | None = None
    ) -> bool:
        """Set a value; with `nx`, only if the key does not exist."""
        if nx and self.get(key) is not None:
            return False
        self._only_the_living()
        seconds = ex if ex is not None else px / 1000 if px is not None else 1e9
        self._values[key] = (value, self._clock.now + seconds)
        return True

    def delete(self, *keys: str) -> int:
        """Delete keys; return how many of them existed."""
        there = [key for key in keys if self.get(key) is not None]
        for key in keys:
            self._values.pop(key, None)
        return len(there)

    def time(self) -> tuple[int, int]:
        """Return Redis' own clock: seconds and microseconds."""
        return int(self._clock.now), int(self._clock.now % 1 * 1_000_000)

    def flush(self) -> None:
        """Delete every key."""
        self._values.clear()

    def register_script(self, script: str) -> Callable[..., list[int] | None]:
        """Return a function that does the same as one of the lock scripts."""
        return {locks.TAKE: self._take, locks.RENEW: self._renew, locks.RELEASE: self._release}[script]

    def _take(self, *, keys: list[str], args: list[Any]) -> list[int] | None:
        lease, how, *tokens = args
        unless, wanted = (keys[:1], keys[1:]) if how == "unless" else ([], keys)
        if any(self.get(key) is not None for key in unless):
            return None
        return [self.set(key, token, nx=True, px=lease) for key, token in zip(wanted, tokens, strict=True)]

    def _renew(self, *, keys: list[str], args: list[Any]) -> list[int]:
        lease, *tokens = args
        return [
            self.get(key) == token and self.set(key, token, px=lease)
            for key, token in zip(keys, tokens, strict=True)
        ]

    def _release(self, *, keys: list[str], args: list[str]) -> list[int]:
        return [self.get(key) == token and self.delete(key) for key, token in zip(keys, args, strict=True)]

    def _only_the_living(self) -> None:
        if self._stage.actor.is_dead:
            self._stage.point("redis")
