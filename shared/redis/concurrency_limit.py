"""How many calls to the tracker may be under way at once, over all workers: kept in Redis, shared out among them.

Each worker tells from time to time how many calls it wants and what its last ones took, and is told its share. One of
them at a time decides on the limit again (`worker/runtime/gradient.py`). Anybody may write to Redis: a limit that no
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
from redis.exceptions import NoPermissionError, OutOfMemoryError, ReadOnlyError, ResponseError

from shared.codes.limits import CallLimitBy
from shared.codes.notice import Notice
from shared.redis.keys import OURS, is_of_another_type, key_of
from shared.redis.latency import note_calls

Calls = Mapping[str, tuple[int, float]]
"""By operation, how many calls were answered, and how many seconds they took in all."""

KEY = f"{OURS}calls:limit"
WORKERS_KEY = f"{OURS}calls:workers"
SEEN_KEY = f"{OURS}calls:seen"
TURN_KEY = f"{OURS}calls:turn"
KEYS = (KEY, WORKERS_KEY, SEEN_KEY, TURN_KEY)

TOLD_EVERY_S = 0.1
DECIDED_EVERY_S = 0.25
TURN_S = 5.0
FORGOTTEN_AFTER_S = 3.0
KEPT_S = 3600
LEAST = 3.0
"""Fewer would make every tracker slower, and one call that hangs would hold up too many others."""
ENOUGH, ENOUGH_OF_EACH = 48, 4
"""Calls that are seen before the limit is decided on anew, and for each that may be under way; fewer after WINDOW_S."""
QUICK, QUICK_OF_EACH = 12, 2
"""The same while it opens: what it finds by chance then is tried again."""
WINDOW_S = 10.0
LARGEST = 64 * 1024
MOST, DIGITS = 10**12, 13
NUMBERS, FLAGS = ("calls", "gain", "kept", "rate", "tried_at", "again_s"), ("settles", "more_next", "resumed")

# Keeps what a worker tells, and returns the time, what all of them want, the limit, and to whoever is to decide on it
# what was seen since the last time.
TELL = """
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local workers, seen, limit, turn = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
redis.call('HSET', workers, ARGV[1], string.format('%.3f %d %d', now, ARGV[2], ARGV[3]))
local all, wanted = redis.call('HGETALL', workers), 0
for i = 1, #all, 2 do
  local at, wants = string.match(all[i + 1], '^([0-9.]+) (%d+) %d+$')
  at = tonumber(at or '')
  if at and at > now - tonumber(ARGV[4]) and at < now + 1 then
    wanted = wanted + tonumber(wants)
  else
    redis.call('HDEL', workers, all[i])
  end
end
local since = tonumber(string.match(redis.call('HGET', seen, 'since') or '', '^%d+%.%d+$') or '')
if not since or since > now then
  since = now
  redis.call('HSET', seen, 'since', string.format('%.3f', now))
end
if wanted < (tonumber(redis.call('HGET', seen, 'wanted') or '') or 1e9) then
  redis.call('HSET', seen, 'wanted', wanted)
end
for i = 9, #ARGV, 3 do
  redis.call('HINCRBY', seen, 'count', ARGV[i + 1])
  redis.call('HINCRBY', seen, 'n ' .. ARGV[i], ARGV[i + 1])
  redis.call('HINCRBY', seen, 'us ' .. ARGV[i], ARGV[i + 2])
end
local found = {}
local count = tonumber(redis.call('HGET', seen, 'count') or '0')
if count >= tonumber(ARGV[6]) or now - since >= tonumber(ARGV[7]) then
  local left = redis.call('PTTL', turn)
  if left == -1 or left > tonumber(ARGV[5]) then redis.call('DEL', turn) end
  if redis.call('SET', turn, ARGV[1], 'NX', 'PX', ARGV[5]) then
    found = redis.call('HGETALL', seen)
    redis.call('DEL', seen)
    redis.call('HSET', seen, 'since', string.format('%.3f', now))
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
        gain: how many times as much twice as many did, or would do, when it was tried last.
        kept: what it was before the trial that is under way; 0: none is.
        settles: whether calls may still come that began by the limit before.
        rate: what was done each second before the trial; what a call took then is its measure. 0: not known.
        took: seconds that a call took then, by operation; nothing where the trial has changed the number.
        tried_at: when a trial was begun last (seconds since the epoch, Redis' clock).
        again_s: seconds from then to the next.
        more_next: whether that one is with more calls.
        resumed: whether the trial under way was begun before a time with too little to do.
    """

    calls: float = LEAST
    why: CallLimitBy = CallLimitBy.OPENING
    gain: float = 1.0
    kept: float = 0.0
    settles: bool = True
    rate: float = 0.0
    took: Mapping[str, float] = field(default_factory=dict)
    tried_at: float = 0.0
    again_s: float = 5.0
    more_next: bool = True
    resumed: bool = False

    @property
    def because(self) -> Notice:
        return self.why(gain=self.gain)

    @property
    def enough(self) -> int:
        """Calls that are enough to decide on it anew: all that may still come, or so many that chance counts little."""
        each = max(self.calls, self.kept)
        if self.settles:
            return math.ceil(each)
        if self.why is CallLimitBy.OPENING:
            return math.ceil(max(QUICK, QUICK_OF_EACH * each))
        return math.ceil(max(ENOUGH, ENOUGH_OF_EACH * each))


@dataclass(frozen=True, slots=True)
class Seen:
    """What the workers have seen since the limit was decided on last.

    Attributes:
        now: the time, by Redis' clock.
        seconds: since then.
        wanted: calls that they would have made at once all the time, if they had been allowed to.
        bound: calls that they can make at once.
        calls: those that were answered.
    """

    now: float
    seconds: float
    wanted: int
    bound: int
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
        names.rotate(int(self.now / TURN_S))
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


class ConcurrencyLimit:
    """The limit of an installation.

    Args:
        redis: connection with its own time-outs.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis, self._tell = redis, redis.register_script(TELL)
        self._in_force = Limit()

    def tell(self, worker: str, wanted: int, bound: int, calls: Calls) -> Told:
        """Tell what a worker wants and has seen.

        Args:
            worker: its name, of this one process.
            wanted: calls that it would make at once; 0: it has nothing to do.
            bound: calls that it can make at once.
            calls: as in `Seen`, its own.

        Raises:
            RedisError: it cannot be told.
        """
        every_ms = round(DECIDED_EVERY_S * 1000)
        arguments: list[Any] = [worker, wanted, bound, FORGOTTEN_AFTER_S, every_ms]
        arguments += [self._in_force.enough, WINDOW_S, KEPT_S]
        for operation, (count, seconds) in calls.items():
            arguments += [operation, count, round(seconds * 1e6)]
        keys = [key_of(self._redis, one) for one in (WORKERS_KEY, SEEN_KEY, KEY, TURN_KEY)]
        try:
            now, workers, limit, seen = self._tell(keys=keys, args=arguments)
        except (OutOfMemoryError, ReadOnlyError, NoPermissionError):
            raise
        except ResponseError:  # somebody else's values
            self._redis.delete(*keys)
            now, workers, limit, seen = self._tell(keys=keys, args=arguments)
        told = {name: [_number(word) for word in text.split(" ")] for name, text in _pairs(workers)}
        wanted_by = {name: numbers[1] for name, numbers in told.items() if numbers[1]}
        bound = sum(numbers[2] for numbers in told.values())
        found = dict(_pairs(seen))
        self._in_force = _limit(limit)
        return Told(float(now), self._in_force, wanted_by, _seen(float(now), bound, found) if found else None)

    def note(self, calls: Calls) -> None:
        """Keep what calls took, for whoever asks how slow the tracker is.

        Args:
            calls: as in `Seen`, a worker's own.

        Raises:
            RedisError: it cannot be kept.
        """
        note_calls(self._redis, calls)

    def decide(self, limit: Limit) -> None:
        """Put a limit in force.

        Raises:
            RedisError: it cannot be.
        """
        self._redis.set(key_of(self._redis, KEY), json.dumps(asdict(limit)), ex=KEPT_S)

    def current(self) -> Limit | None:
        """Return the limit in force; None: no worker has called for long.

        Raises:
            RedisError: it cannot be asked.
        """
        try:
            stored = self._redis.getrange(key_of(self._redis, KEY), 0, LARGEST)
        except ResponseError as error:
            if not is_of_another_type(error):
                raise
            return None
        return _limit(stored) if stored else None


def _pairs(flat: list[Any]) -> list[tuple[str, str]]:
    texts = [one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in flat]
    return list(zip(texts[::2], texts[1::2], strict=True))


def _number(text: str) -> int:
    return min(int(text[:DIGITS]), MOST) if text.isascii() and text.isdigit() else 0


def _seen(now: float, bound: int, found: dict[str, str]) -> Seen:
    calls = {}
    for name, text in found.items():
        operation = name.removeprefix("n ")
        count, micros = _number(text), _number(found.get(f"us {operation}", ""))
        if operation != name and count and micros:
            calls[operation] = (count, micros / 1e6)
    seconds = now - float(found["since"])
    return Seen(now, max(seconds, DECIDED_EVERY_S), _number(found.get("wanted", "")), bound, calls)


def _limit(stored: str | bytes) -> Limit:
    """Return a stored limit; a new one where it has not the form that `decide` gives it."""
    try:
        found = json.loads(stored)
        took = {str(name): float(seconds) for name, seconds in found["took"].items()}
        numbers: dict[str, Any] = {name: float(found[name]) for name in NUMBERS}
        flags = {name: found[name] is True for name in FLAGS}
        why = CallLimitBy(found["why"])
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return Limit()
    if not all(0 <= one <= MOST for one in numbers.values()) or not all(
        0 < one <= MOST for one in took.values()
    ):
        return Limit()
    if numbers["calls"] < 1 or 0 < numbers["kept"] < 1 or numbers["gain"] < 1 or numbers["again_s"] > KEPT_S:
        return Limit()
    if numbers["kept"] and not numbers["rate"]:
        return Limit()
    return Limit(why=why, took=took, **numbers, **flags)
