"""As much of Redis as locks and the pause use, in simulated time, and emptied at will."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from redis.exceptions import LockNotOwnedError

from tests.model.clock import Clock
from tests.model.stage import Stage


class SimulatedRedis:
    """Keys with an end."""

    def __init__(self, clock: Clock, stage: Stage) -> None:
        self._clock, self._stage = clock, stage
        self._values: dict[str, tuple[str, float]] = {}
        self._tokens = 0

    def get(self, key: str) -> str | None:
        """Return a value that has not ended."""
        self._only_the_living()
        value, end = self._values.get(key, ("", 0.0))
        return value if end > self._clock.now else None

    def getrange(self, key: str, start: int, end: int) -> str:
        """Return a part of a value, an empty one where there is none."""
        return (self.get(key) or "")[start : end + 1]

    def pttl(self, key: str) -> int:
        """Return how many milliseconds a value still lives."""
        return -2 if self.get(key) is None else round((self._values[key][1] - self._clock.now) * 1000)

    def set(
        self, key: str, value: str, *, nx: bool = False, ex: float | None = None, px: float | None = None
    ) -> bool:
        """Set a value, with `nx` only where there is none."""
        if nx and self.get(key) is not None:
            return False
        self._only_the_living()
        seconds = ex if ex is not None else px / 1000 if px is not None else 1e9
        self._values[key] = (value, self._clock.now + seconds)
        return True

    def delete(self, *keys: str) -> int:
        """Delete keys; return how many there were."""
        there = [key for key in keys if self.get(key) is not None]
        for key in keys:
            self._values.pop(key, None)
        return len(there)

    def time(self) -> tuple[int, int]:
        """Return Redis' own clock: seconds and microseconds."""
        return int(self._clock.now), int(self._clock.now % 1 * 1_000_000)

    def flush(self) -> None:
        """Forget everything."""
        self._values.clear()

    def lock(self, name: str, *, timeout: float, **_: Any) -> SimulatedLock:
        """Return a lock as redis-py does."""
        self._tokens += 1
        return SimulatedLock(self, name, timeout, str(self._tokens))

    def pipeline(self, *, transaction: bool) -> SimulatedPipeline:  # noqa: ARG002 (nobody comes in between)
        """Return what gathers commands."""
        return SimulatedPipeline(self)

    def register_script(self, _script: str) -> Callable[..., list[int]]:
        """Return the only script that there is: it gives locks back."""

        def release(*, keys: list[str], args: list[str]) -> list[int]:
            lost = [place for place, key in enumerate(keys) if self.get(key) != args[place]]
            self.delete(*(key for place, key in enumerate(keys) if place not in lost))
            return lost

        return release

    def _only_the_living(self) -> None:
        if self._stage.actor.is_dead:
            self._stage.point("redis")


class SimulatedPipeline:
    """Commands that are sent together."""

    def __init__(self, redis: SimulatedRedis) -> None:
        self._redis, self._asked = redis, list[Callable[[], bool]]()

    def set(self, *arguments: Any, **options: Any) -> None:
        """Gather one."""
        self._asked.append(lambda: self._redis.set(*arguments, **options))

    def execute(self) -> list[bool]:
        """Carry them out, in their order."""
        return [one() for one in self._asked]


class SimulatedLock:
    """A token under a key: taken, renewed and given back only by whoever has the token."""

    def __init__(self, redis: SimulatedRedis, name: str, lease: float, token: str) -> None:
        self._redis, self.name, self._lease = redis, name, lease
        self.local = SimpleNamespace(token=token)

    def acquire(self) -> bool:
        """Take it, without waiting."""
        return self._redis.set(self.name, self.local.token, nx=True, ex=self._lease)

    def reacquire(self) -> None:
        """Start the lease anew."""
        self._own()
        self._redis.set(self.name, self.local.token, ex=self._lease)

    def release(self) -> None:
        """Give it back."""
        self._own()
        self._redis.delete(self.name)

    def _own(self) -> None:
        if self._redis.get(self.name) != self.local.token:
            raise LockNotOwnedError("the lock belongs to somebody else now")
