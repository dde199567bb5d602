"""Heartbeats in Redis: which workers, beats and consoles ran lately, and which installations they belong to."""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from redis import Redis
from redis.exceptions import RedisError, ResponseError

from shared.process.itself import Process
from shared.redis.clock import now
from shared.redis.keys import (
    INSTALLATIONS,
    OURS,
    InstallationRedis,
    is_of_another_type,
    key_of,
    key_of_installation,
)

KEY = f"{OURS}alive:"
KEPT_S = 86400 * 7
MARKED_EVERY_S = 10
ALIVE_S = 30.0
"""A process with a heartbeat within this time is running."""
GONE_S = 90.0
"""A process without a heartbeat for this time has ended: a restart takes less."""
MOST_READ = 20
WORKER, BEAT, CONSOLE = "worker", "beat", "console"
UNABLE = ":unable"
"""Suffix of a kind's key for its processes that cannot decrypt the stored API key."""
CLOCK = ":clock"
"""Suffix of a kind's key for how far the clocks of its processes are ahead."""
INSTALLATION = re.compile("[0-9a-f]{1,32}")


@dataclass(frozen=True, slots=True)
class ProcessSign:
    """The last heartbeat of a process.

    Attributes:
        seconds: age of the heartbeat.
        ahead_s: how far its machine's clock is ahead of the database's; None if unknown.
    """

    process: Process
    seconds: float
    ahead_s: float | None = None


class Heartbeats:
    """Records and reads heartbeats.

    Args:
        redis: connection with its own time-outs.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def mark(self, kind: str, process: Process | None = None, ahead_s: float | None = None) -> None:
        """Record that a process is alive now, by Redis' own clock.

        Args:
            kind: worker, beat or console.
            process: the process; this one by default.
            ahead_s: how far its machine's clock is ahead of the database's; None if unknown.
        """
        name, at = json.dumps((process or Process.here()).told(), sort_keys=True), now(self._redis)
        seen = {self._key(kind): name}
        if isinstance(self._redis, InstallationRedis):
            seen[INSTALLATIONS] = self._redis.whose()
        with self._redis.pipeline(transaction=False) as pipe:
            for key, member in seen.items():
                pipe.zadd(key, {member: at})
                pipe.zremrangebyscore(key, "-inf", at - KEPT_S)
                pipe.expire(key, KEPT_S)
            if ahead_s is not None:
                pipe.zadd(self._key(kind) + CLOCK, {name: ahead_s})
                pipe.expire(self._key(kind) + CLOCK, KEPT_S)
            pipe.execute()

    def _key(self, kind: str) -> str:
        """Return the key of a kind's heartbeats; a beat serves all installations in its Redis and belongs to none."""
        return KEY + kind if kind == BEAT else key_of(self._redis, KEY + kind)

    def mark_unable(self, kind: str) -> None:
        """Record that this process is alive but cannot decrypt the stored API key."""
        name, at = json.dumps(Process.here().told(), sort_keys=True), now(self._redis)
        with self._redis.pipeline(transaction=False) as pipe:
            pipe.zadd(self._key(kind) + UNABLE, {name: at})
            pipe.expire(self._key(kind) + UNABLE, KEPT_S)
            pipe.execute()

    def able(self, kind: str) -> None:
        """Record that this process can decrypt the stored API key again."""
        mine = Process.here()
        for member, _ in self._latest(self._key(kind) + UNABLE, KEPT_S):
            process = _process(member)
            if process and (process.host, process.pid) == (mine.host, mine.pid):
                self._redis.zrem(self._key(kind) + UNABLE, member)

    def unable(self, kind: str) -> list[ProcessSign]:
        """Return the processes of a kind that recorded that they cannot decrypt the stored API key, newest first."""
        return self._seen(self._key(kind) + UNABLE)

    def keep_marking(self, kind: str, ahead_s: Callable[[], float | None] = lambda: None) -> None:
        """Record a heartbeat every few seconds from a separate thread for as long as the process runs.

        Args:
            kind: worker, beat or console.
            ahead_s: returns how far the machine's clock is ahead of the database's; None if unknown.
        """
        process = Process.here()

        def mark() -> None:
            while True:
                with suppress(RedisError):  # the process itself reports it where it matters
                    self.mark(kind, process, ahead_s())
                time.sleep(MARKED_EVERY_S)

        threading.Thread(target=mark, daemon=True, name="heartbeat").start()

    def seen(self, kind: str) -> list[ProcessSign]:
        """Return the processes of a kind with a heartbeat within a week, newest first, at most MOST_READ.

        Raises:
            RedisError: if a call to Redis fails.
        """
        return self._seen(self._key(kind))

    def _seen(self, key: str) -> list[ProcessSign]:
        latest = self._latest(key, KEPT_S)
        ahead = self._ahead(key, [name for name, _ in latest])
        signs = [(_process(name), seconds, ahead.get(name)) for name, seconds in latest]
        return [ProcessSign(process, seconds, off) for process, seconds, off in signs if process]

    def _ahead(self, key: str, names: list[bytes]) -> dict[bytes, float]:
        try:
            found: Any = self._redis.zmscore(key + CLOCK, names) if names else []  # type: ignore[arg-type]
        except ResponseError:
            return {}
        return {
            name: off
            for name, off in zip(names, found, strict=True)
            if off is not None and math.isfinite(off)
        }

    def _latest(self, key: str, within_s: float) -> list[tuple[bytes, float]]:
        """Return the members of a key whose time is within `within_s`, each with its age, newest first."""
        at = now(self._redis)
        try:
            found: Any = self._redis.zrevrangebyscore(
                key, at + 1, at - within_s, start=0, num=MOST_READ, withscores=True
            )
        except ResponseError as error:
            if not is_of_another_type(error):
                raise
            return []
        return [(name, max(0.0, at - score)) for name, score in found]

    def installations(self, within_s: float = KEPT_S) -> list[str]:
        """Return the installations with a recent heartbeat of a worker or console, newest first.

        Args:
            within_s: maximum age in seconds; a week at most.
        """
        names = [name.decode("ascii", "replace") for name, _ in self._latest(INSTALLATIONS, within_s)]
        return [name for name in names if INSTALLATION.fullmatch(name)]

    def mine_and_others(self) -> tuple[str, dict[str, ProcessSign | None]]:
        """Return the id of this installation, and the other installations that use this Redis.

        Returns:
            This installation's id, and by the others' ids the newest heartbeat of a worker, or None.
        """
        mine = self._redis.whose() if isinstance(self._redis, InstallationRedis) else "-"
        others = [one for one in self.installations() if one != mine]
        seen = {one: self._seen(key_of_installation(one, KEY + WORKER)) for one in others}
        return mine, {one: signs[0] if signs else None for one, signs in seen.items()}

    def seconds_since(self, kind: str) -> float | None:
        """Return the age of the newest heartbeat of a kind, or None if there is none."""
        return next((sign.seconds for sign in self.seen(kind)), None)


def _process(name: bytes | str) -> Process | None:
    """Return the process that a stored name describes, or None if it was not written by deskbridge."""
    try:
        return Process.read(json.loads(name))
    except (ValueError, RecursionError):
        return None
