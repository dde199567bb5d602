"""The one mechanism for outages: paused until T because R; then one worker probes, then all go on (DESIGN)."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from redis import Redis

KEY = "deskbridge:pause"
PROBE_KEY = "deskbridge:pause:probe"
FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 60.0
PROBE_LEASE_S = 30


@dataclass(frozen=True, slots=True)
class Paused:
    """Why nothing is sent at the moment, and until when (seconds since the epoch)."""

    reason: str
    until: float
    length: float


@dataclass(frozen=True, slots=True)
class Permit:
    """Whether a worker may go on.

    Attributes:
        blocked_by: the pause that it has to wait for; None: it may go on.
        probing: it goes on to find out whether the tracker answers again.
    """

    blocked_by: Paused | None
    probing: bool = False


class Pause:
    """Shared by every worker of an installation.

    Args:
        redis: connection with its own time-outs.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def current(self) -> Paused | None:
        """Return the pause in force, over or not, until something succeeded again."""
        stored = self._redis.get(KEY)
        return Paused(**json.loads(stored)) if isinstance(stored, (str, bytes)) else None

    def enter(self) -> Permit:
        """Ask to go on: not while a pause lasts; after it, one at a time goes on to probe."""
        paused = self.current()
        if paused is None:
            return Permit(None)
        if time.time() < paused.until or not self._redis.set(PROBE_KEY, "1", nx=True, ex=PROBE_LEASE_S):
            return Permit(paused)
        latest = self.current()
        if latest == paused:
            return Permit(None, probing=True)
        self.give_up_probe()  # while we looked, another probe has failed and a new pause begun, or succeeded
        return Permit(latest)

    def give_up_probe(self) -> None:
        """Let another one probe: this one had nothing to ask the tracker."""
        self._redis.delete(PROBE_KEY)

    def begin(self, reason: str, seconds: float | None = None) -> Paused:
        """Pause everybody, each time twice as long, up to a minute; or for the time the tracker named.

        Calls that were under way when the pause began fail, too, and make it no longer.
        """
        before, now = self.current(), time.time()
        if before and now < before.until:
            length = before.length
        else:
            length = min(LONGEST_PAUSE_S, before.length * 2) if before else FIRST_PAUSE_S
        until = now + (seconds if seconds is not None else length)
        paused = Paused(reason, max(until, before.until if before else 0.0), length)
        self._redis.set(KEY, json.dumps({"reason": reason, "until": paused.until, "length": length}))
        self._redis.delete(PROBE_KEY)
        return paused

    def end(self) -> bool:
        """Let everybody go on; True where there had been a pause."""
        return bool(self._redis.delete(KEY, PROBE_KEY))
