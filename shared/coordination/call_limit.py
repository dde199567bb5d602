"""How many calls to the tracker may be under way at once, over all workers: kept in Redis, shared out among them.

Each worker tells from time to time how many calls it wants and what its last ones took, and is told its share. One of
them at a time decides on the limit anew (`worker/sync/gradient.py`). What Redis holds may be anybody's: a limit that no
worker can have written begins again.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from redis import Redis
from redis.exceptions import ResponseError

from shared.codes.coded import Coded
from shared.codes.limits import CallLimitBy

Calls = Mapping[str, tuple[int, float]]
"""By operation, how many calls were answered, and how many seconds they took in all."""

KEY = "deskbridge:calls:limit"
WORKERS_KEY = "deskbridge:calls:workers"
SEEN_KEY = "deskbridge:calls:seen"
TURN_KEY = "deskbridge:calls:turn"
KEYS = (KEY, WORKERS_KEY, SEEN_KEY, TURN_KEY)

TOLD_EVERY_S = 0.25
TURN_S = 5.0
FORGOTTEN_AFTER_S = 3.0
KEPT_S = 3600
ENOUGH = 8
"""Calls that are seen before the limit is decided on anew; with fewer after WINDOW_S."""
FEW = 3
"""The same while they are made one at a time."""
WINDOW_S = 2.0
LARGEST = 64 * 1024
MOST, DIGITS = 10**12, 13

# Keeps what a worker tells, and returns the time, whether it is this worker's turn to decide, what all of them want,
# the limit, and to whoever decides what was seen since the last time.
TELL = """
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local workers, seen, limit, turn = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
redis.call('HSET', workers, ARGV[1], string.format('%.3f %d %d %d', now, ARGV[2], ARGV[3], ARGV[9]))
local all, most = redis.call('HGETALL', workers), 0
for i = 1, #all, 2 do
  local at, under_way = string.match(all[i + 1], '^([0-9.]+) %d+ (%d+) %d+$')
  at = tonumber(at or '')
  if at and at > now - tonumber(ARGV[4]) and at < now + 1 then
    most = most + tonumber(under_way)
  else
    redis.call('HDEL', workers, all[i])
  end
end
if #ARGV > 9 then
  if most > tonumber(redis.call('HGET', seen, 'most') or '0') then redis.call('HSET', seen, 'most', most) end
  if not tonumber(redis.call('HGET', seen, 'since') or '') then
    redis.call('HSET', seen, 'since', string.format('%.3f', now))
  end
  for i = 10, #ARGV, 3 do
    redis.call('HINCRBY', seen, 'count', ARGV[i + 1])
    redis.call('HINCRBY', seen, 'n ' .. ARGV[i], ARGV[i + 1])
    redis.call('HINCRBY', seen, 'us ' .. ARGV[i], ARGV[i + 2])
  end
end
local found = {}
local since = tonumber(redis.call('HGET', seen, 'since') or '')
local count = tonumber(redis.call('HGET', seen, 'count') or '0')
if since and (count >= tonumber(ARGV[6]) or now - since >= tonumber(ARGV[7])) then
  local left = redis.call('PTTL', turn)
  if left == -1 or left > tonumber(ARGV[5]) then redis.call('DEL', turn) end
  if redis.call('SET', turn, ARGV[1], 'NX', 'PX', ARGV[5]) then
    found = redis.call('HGETALL', seen)
    redis.call('DEL', seen)
  end
end
for i = 1, 3 do redis.call('EXPIRE', KEYS[i], ARGV[8]) end
return {string.format('%.3f', now), redis.call('HGETALL', workers), redis.call('GETRANGE', limit, 0, 65536), found}
"""


@dataclass(frozen=True, slots=True)
class Limit:
    """How many calls may be under way at once, and why.

    Attributes:
        calls: so many; its whole part counts.
        why: because of what.
        slower: how much longer calls took last than one at a time; 1: no longer.
        before: what it was before it was begun to measure, and is after.
        bases: seconds that a call takes one at a time, by operation.
        measured_at: when that was begun to be measured last (seconds since the epoch, Redis' clock).
    """

    calls: float = 1.0
    why: CallLimitBy = CallLimitBy.MEASURING
    slower: float = 1.0
    before: float = 0.0
    bases: Mapping[str, float] = field(default_factory=dict)
    measured_at: float = 0.0

    @property
    def because(self) -> Coded:
        """Why it is what it is."""
        return self.why(slower=self.slower)


@dataclass(frozen=True, slots=True)
class Seen:
    """What the workers have seen since the limit was decided on last.

    Attributes:
        now: the time, by Redis' clock.
        wanted: calls that those at work would make at once, if they might.
        bound: calls that they can make at once.
        most: calls that were under way at once, at most.
        calls: those that were answered.
    """

    now: float
    wanted: int
    bound: int
    most: int
    calls: Calls


@dataclass(frozen=True, slots=True)
class Told:
    """What a worker is told.

    Attributes:
        now: the time, by Redis' clock.
        limit: in force.
        wanted: calls wanted at once, by worker that wants any.
        seen: what is to be decided on; None: it is somebody else's turn, or too early.
    """

    now: float
    limit: Limit
    wanted: Mapping[str, int]
    seen: Seen | None

    def share(self, worker: str, limit: Limit) -> int:
        """Return how many of the calls are a worker's: each gets the same, as far as it wants them.

        What cannot be shared out alike, such as one call between two workers, goes round.

        Args:
            worker: its name.
            limit: in force now.
        """
        shares = dict.fromkeys(self.wanted, 0)
        names = deque(sorted(self.wanted))
        is_measuring = limit.why is CallLimitBy.MEASURING  # by whoever begins with it
        names.rotate(int((limit.measured_at if is_measuring else self.now) / TURN_S))
        left = math.floor(limit.calls)
        while left and names:
            each = max(1, left // len(names))
            for name in list(names):
                more = min(each, left, self.wanted[name] - shares[name])
                shares[name] += more
                left -= more
                if shares[name] == self.wanted[name]:
                    names.remove(name)
        return shares.get(worker, 0)


class CallLimit:
    """The limit of an installation.

    Args:
        redis: connection with its own time-outs.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis, self._tell = redis, redis.register_script(TELL)
        self._is_measuring = True

    def tell(self, worker: str, wanted: int, bound: int, most: int, calls: Calls) -> Told:
        """Tell what a worker wants and has seen.

        Args:
            worker: its name, of this one process.
            wanted: calls that it would make at once; 0: it has nothing to do.
            bound: calls that it can make at once.
            most: calls that it had under way at once since it told last, at most.
            calls: as in `Seen`, its own.

        Raises:
            RedisError: it cannot be told.
        """
        every_ms = round(TOLD_EVERY_S * 1000)
        enough = FEW if self._is_measuring else ENOUGH
        arguments: list[Any] = [worker, wanted, most, FORGOTTEN_AFTER_S, every_ms, enough, WINDOW_S, KEPT_S]
        arguments.append(bound)
        for operation, (count, seconds) in calls.items():
            arguments += [operation, count, round(seconds * 1e6)]
        keys = [WORKERS_KEY, SEEN_KEY, KEY, TURN_KEY]
        try:
            now, workers, limit, seen = self._tell(keys=keys, args=arguments)
        except ResponseError:  # somebody else's values
            self._redis.delete(*KEYS)
            now, workers, limit, seen = self._tell(keys=keys, args=arguments)
        told = {name: [_number(word) for word in text.split(" ")] for name, text in _pairs(workers)}
        wanted_by = {name: numbers[1] for name, numbers in told.items() if numbers[1]}
        bound = sum(numbers[3] for numbers in told.values())
        found = dict(_pairs(seen))
        to_decide = _seen(float(now), sum(wanted_by.values()), bound, found) if found else None
        in_force = _limit(limit)
        self._is_measuring = in_force.why is CallLimitBy.MEASURING
        return Told(float(now), in_force, wanted_by, to_decide)

    def decide(self, limit: Limit) -> None:
        """Put a limit in force.

        Raises:
            RedisError: it cannot be.
        """
        self._redis.set(KEY, json.dumps(asdict(limit)), ex=KEPT_S)

    def current(self) -> Limit | None:
        """Return the limit in force; None: no worker has called for long.

        Raises:
            RedisError: it cannot be asked.
        """
        try:
            stored = self._redis.getrange(KEY, 0, LARGEST)
        except ResponseError:  # it is not even a text
            return None
        return _limit(stored) if stored else None


def _pairs(flat: list[Any]) -> list[tuple[str, str]]:
    texts = [one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in flat]
    return list(zip(texts[::2], texts[1::2], strict=True))


def _number(text: str) -> int:
    return min(int(text[:DIGITS]), MOST) if text.isascii() and text.isdigit() else 0


def _seen(now: float, wanted: int, bound: int, found: dict[str, str]) -> Seen:
    calls = {}
    for name, text in found.items():
        operation = name.removeprefix("n ")
        count, micros = _number(text), _number(found.get(f"us {operation}", ""))
        if operation != name and count and micros:
            calls[operation] = (count, micros / 1e6)
    return Seen(now, wanted, bound, _number(found.get("most", "")), calls)


def _limit(stored: str | bytes) -> Limit:
    """Return a stored limit; a new one where it has not the form that `decide` gives it."""
    try:
        found = json.loads(stored)
        bases = {str(name): float(seconds) for name, seconds in found["bases"].items()}
        numbers = [float(found[name]) for name in ("calls", "slower", "before", "measured_at")]
        calls, slower, before, measured_at = numbers
        why = CallLimitBy(found["why"])
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return Limit()
    if not all(seconds > 0 for seconds in bases.values()):
        return Limit()
    if not all(map(math.isfinite, [*numbers, *bases.values()])) or not 1 <= calls <= MOST or slower < 1:
        return Limit()
    return Limit(calls, why, slower, before, bases, measured_at)
