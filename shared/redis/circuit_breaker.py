"""The one mechanism for outages: paused until T because R; then one worker probes, then all go on.

T is told by Redis' own clock: a worker whose clock is off by a minute would stop or wake all others.
What Redis holds may be anyone's: a pause that no worker can have written is dropped.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from redis import Redis
from redis.exceptions import ResponseError

from shared.notices.notice import Notice, from_json, notice_json, written
from shared.notices.render import sentence
from shared.redis.clock import now
from shared.redis.keys import OURS, is_of_another_type, key_of
from shared.redis.locks import drop_endless
from shared.telemetry.logs import get_logger

log = get_logger("pause")

KEY = f"{OURS}pause"
HELPDESK_KEY = f"{OURS}helpdesk"
FIRST_PAUSE_S = 5.0
LONGEST_PAUSE_S = 60.0
LONGEST_NAMED_S = 3600.0
LONGEST_REASON = 2000
LARGEST = 64 * 1024
CLOCK_MARGIN_S = 60.0
PROBE_LEASE_S = 30


@dataclass(frozen=True, slots=True)
class Paused:
    """Why nothing is sent at the moment, and until when (seconds since the epoch, by Redis' clock)."""

    reason: Notice
    until: float
    length: float


@dataclass(frozen=True, slots=True)
class Permit:
    """Whether a worker may go on.

    Attributes:
        blocked_by: the pause that it has to wait for; None: it may go on.
        probing: it goes on to find out whether the tracker answers again.
        after: the pause that it probes.
    """

    blocked_by: Paused | None
    probing: bool = False
    after: Paused | None = None


class CircuitBreaker:
    """Shared by every worker of an installation.

    Args:
        redis: connection with its own time-outs.
        key: where it is kept: the tracker's pause, or another's.

    """

    def __init__(self, redis: Redis, key: str = KEY) -> None:
        self._redis, self._key = redis, key

    @property
    def key(self) -> str:
        """The key as it stands in Redis; without it there is no pause."""
        return key_of(self._redis, self._key)

    @property
    def _probe_key(self) -> str:
        return f"{self.key}:probe"

    def current(self) -> Paused | None:
        """Return the pause, over or not, until a call succeeded again.

        Raises:
            RedisError: Redis does not tell.
        """
        try:
            stored = self._redis.getrange(self.key, 0, LARGEST)
        except ResponseError as error:
            if not is_of_another_type(error):
                raise
            stored = "?"
        if not stored:
            return None
        paused = _read(stored)
        if paused is None or self.left(paused) > LONGEST_NAMED_S + CLOCK_MARGIN_S:
            log.warning("a pause in Redis that no worker can have written is dropped")
            self._redis.delete(self.key)
            return None
        return paused

    def left(self, paused: Paused) -> float:
        """Return how many seconds the pause still has; 0: a process may probe."""
        return max(0.0, paused.until - now(self._redis))

    def enter(self) -> Permit:
        """Ask to go on: not during a pause; after it, one at a time may probe."""
        paused = self.current()
        if paused is None:
            return Permit(None)
        if self.left(paused):
            return Permit(paused)
        if not self._redis.set(self._probe_key, "1", nx=True, ex=PROBE_LEASE_S):
            drop_endless(self._redis, self._probe_key)
            return Permit(paused)
        latest = self.current()
        if latest == paused:
            return Permit(None, probing=True, after=paused)
        self.give_up_probe()  # while we looked, another probe has failed and a new pause begun, or succeeded
        return Permit(latest)

    def give_up_probe(self) -> None:
        """Let another one probe: this one had nothing to ask the tracker."""
        self._redis.delete(self._probe_key)

    def begin(self, reason: Notice, seconds: float | None = None) -> Paused:
        """Pause all calls, after each failed probe twice as long, up to a minute; or for the time the tracker named.

        Those who were under way when it began find out one after the other: that makes it no longer.
        """
        before = self.current()
        length = before.length if before else FIRST_PAUSE_S
        if before and not self.left(before):
            length = min(LONGEST_PAUSE_S, length * 2)
        until = now(self._redis) + (min(seconds, LONGEST_NAMED_S) if seconds is not None else length)
        paused = Paused(reason, max(until, before.until if before else 0.0), length)
        told = {"reason": _short(reason), "until": paused.until, "length": length}
        self._redis.set(self.key, json.dumps(told))
        self._redis.delete(self._probe_key)
        return paused

    def end(self) -> bool:
        """End the pause; True if there was one."""
        return bool(self._redis.delete(self.key, self._probe_key))


def _read(stored: str | bytes) -> Paused | None:
    """Return a stored pause; None if it has not the form that `begin` gives it."""
    try:
        found = json.loads(stored)
        until, length = float(found["until"]), float(found["length"])
        reason = from_json(found)["reason"]
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    if found.keys() != {"reason", "until", "length"} or not isinstance(reason, Notice):
        return None
    if bool in (type(found["until"]), type(found["length"])):
        return None
    if not math.isfinite(until) or not 0 < length <= LONGEST_PAUSE_S:
        return None
    return Paused(reason, until, length)


def _short(reason: Notice) -> dict[str, Any]:
    """Return a reason as plain JSON data; one that is too long only as the beginning of its sentence."""
    told = notice_json(reason)
    if len(json.dumps(told)) <= LONGEST_REASON:
        return told
    return notice_json(written(sentence(reason)[:LONGEST_REASON]))
