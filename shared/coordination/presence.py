"""Signs of life in Redis: which workers, beats and consoles have been at work lately."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from redis import Redis
from redis.exceptions import RedisError, ResponseError

from shared.coordination.clock import now
from shared.coordination.keys import OURS, is_of_another_type
from shared.process.itself import Process

KEY = f"{OURS}alive:"
KEPT_S = 86400 * 7
MARKED_EVERY_S = 10
MOST_READ = 20
WORKER, BEAT, CONSOLE = "worker", "beat", "console"


@dataclass(frozen=True, slots=True)
class ProcessSign:
    """The last sign of life of a process.

    Attributes:
        seconds: how long ago.
    """

    process: Process
    seconds: float


class Presence:
    """Leaves and reads signs of life.

    Args:
        redis: connection with its own time-outs.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def mark(self, kind: str, process: Process | None = None) -> None:
        """Say that a process is alive now, by Redis' own clock.

        Args:
            kind: what it is.
            process: this one by default.
        """
        name, at = json.dumps((process or Process.here()).told(), sort_keys=True), now(self._redis)
        with self._redis.pipeline(transaction=False) as pipe:
            pipe.zadd(KEY + kind, {name: at})
            pipe.zremrangebyscore(KEY + kind, "-inf", at - KEPT_S)
            pipe.expire(KEY + kind, KEPT_S)
            pipe.execute()

    def keep_marking(self, kind: str) -> None:
        """Leave a sign of life every few seconds from a thread of its own, for as long as the process lives."""
        process = Process.here()

        def mark() -> None:
            while True:
                with suppress(RedisError):  # it says so itself where that matters
                    self.mark(kind, process)
                time.sleep(MARKED_EVERY_S)

        threading.Thread(target=mark, daemon=True, name="presence").start()

    def seen(self, kind: str) -> list[ProcessSign]:
        """Return the processes of a kind that were seen within a week, the latest first, and not all of very many.

        Raises:
            RedisError: Redis does not tell.
        """
        at = now(self._redis)
        try:
            found: Any = self._redis.zrevrangebyscore(
                KEY + kind, at + 1, at - KEPT_S, start=0, num=MOST_READ, withscores=True
            )
        except ResponseError as error:
            if not is_of_another_type(error):
                raise
            return []
        signs = [(_process(name), at - score) for name, score in found]
        return [ProcessSign(process, max(0.0, seconds)) for process, seconds in signs if process]

    def seconds_since(self, kind: str) -> float | None:
        """Return how long ago the last sign of life of a kind was, None where there is none."""
        return next((sign.seconds for sign in self.seen(kind)), None)


def _process(name: bytes | str) -> Process | None:
    """Return the process that a name was made of, None where no process of ours made it."""
    try:
        return Process.read(json.loads(name))
    except (ValueError, RecursionError):
        return None


def is_there(redis: Redis) -> bool:
    """Tell whether Redis answers."""
    try:
        return bool(redis.ping())
    except RedisError:
        return False
