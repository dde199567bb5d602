"""The circuit breaker for all outages: open for a reason until a time; then half-open, one worker tests; then closed.

The time is by Redis' own clock: a worker whose clock is off by a minute would stop or resume all others.
Other clients may write to Redis too: a stored state that no worker can have written is deleted.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
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
SINCE_KEPT_S = 30 * 86400
LONGEST_TIME = 12


@dataclass(frozen=True, slots=True)
class Paused:
    """Why the circuit breaker is open, until when (seconds since the epoch, Redis' clock), and its back-off."""

    reason: Notice
    until: float
    length: float


@dataclass(frozen=True, slots=True)
class Permit:
    """Whether a worker may make calls.

    Attributes:
        blocked_by: the open state that it must wait for; None if it may make calls.
        probing: whether the breaker is half-open, and the worker tests if the tracker is back.
        after: the open state that the test follows.
    """

    blocked_by: Paused | None
    probing: bool = False
    after: Paused | None = None


class CircuitBreaker:
    """The circuit breaker that all workers of an installation share.

    Args:
        redis: connection with its own time-outs.
        key: the tracker's breaker, or another system's.

    """

    def __init__(self, redis: Redis, key: str = KEY) -> None:
        self._redis, self._key = redis, key

    @property
    def key(self) -> str:
        """The full key in Redis; if it does not exist, the breaker is closed."""
        return key_of(self._redis, self._key)

    @property
    def _probe_key(self) -> str:
        return f"{self.key}:probe"

    @property
    def _since_key(self) -> str:
        return f"{self.key}:since"

    def since(self) -> datetime | None:
        """Return when the breaker opened, by Redis' clock, or None if that is unknown."""
        try:
            stored = self._redis.getrange(self._since_key, 0, LONGEST_TIME)
            return datetime.fromtimestamp(int(stored), UTC)
        except (ResponseError, ValueError, OverflowError, OSError):  # absent, or another client's value
            return None

    def current(self) -> Paused | None:
        """Return the open or half-open state, or None if the breaker is closed.

        Raises:
            RedisError: if a call to Redis fails.
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
            self._redis.delete(self.key, self._since_key)
            return None
        return paused

    def left(self, paused: Paused) -> float:
        """Return the seconds until the breaker is half-open; 0 if it is."""
        return max(0.0, paused.until - now(self._redis))

    def enter(self) -> Permit:
        """Return whether this worker may make calls; while the breaker is half-open, one worker at a time may test."""
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
        self.give_up_probe()  # meanwhile another worker's test has failed or succeeded
        return Permit(latest)

    def give_up_probe(self) -> None:
        """Let another worker test, because this one has no call to make."""
        self._redis.delete(self._probe_key)

    def begin(self, reason: Notice, seconds: float | None = None) -> Paused:
        """Open the breaker: twice as long after each failed test, up to a minute, or for as long as the tracker asks.

        If it is open already, because calls in progress fail one by one, its back-off restarts but is not doubled.
        """
        before = self.current()
        length = before.length if before else FIRST_PAUSE_S
        if before and not self.left(before):
            length = min(LONGEST_PAUSE_S, length * 2)
        at = now(self._redis)
        until = at + (min(seconds, LONGEST_NAMED_S) if seconds is not None else length)
        paused = Paused(reason, max(until, before.until if before else 0.0), length)
        told = {"reason": _short(reason), "until": paused.until, "length": length}
        self._redis.set(self.key, json.dumps(told))
        self._redis.set(self._since_key, int(at), nx=before is not None, ex=SINCE_KEPT_S)
        self._redis.delete(self._probe_key)
        return paused

    def end(self) -> bool:
        """Close the breaker; return False if it was closed."""
        self._redis.delete(self._since_key)
        return bool(self._redis.delete(self.key, self._probe_key))


def _read(stored: str | bytes) -> Paused | None:
    """Return a stored state, or None if it does not have the form that `begin` writes."""
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
    """Return a reason as plain JSON data; if it is too long, only the beginning of its sentence."""
    told = notice_json(reason)
    if len(json.dumps(told)) <= LONGEST_REASON:
        return told
    return notice_json(written(sentence(reason)[:LONGEST_REASON]))
