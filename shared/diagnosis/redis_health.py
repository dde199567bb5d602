"""The health of Redis: whether it accepts writes, whose keys fill its memory, and whether it evicts keys."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from redis import Redis
from redis.exceptions import OutOfMemoryError, RedisError, ResponseError

from shared.diagnosis.silent_redis import why_silent
from shared.notices.doctor_service import ServiceFinding
from shared.notices.notice import Notice
from shared.redis.keys import OURS

CHECKED = f"{OURS}checked"
CHECKED_S = 60
MOST_KEYS = 5000
LONGEST_WORDS = 200
MIB = 1024 * 1024
KEEPS_ALL = "noeviction"
REFUSED = {
    "READONLY": ServiceFinding.REDIS_READ_ONLY,
    "MISCONF": ServiceFinding.REDIS_CANNOT_SAVE,
    "NOREPLICAS": ServiceFinding.REDIS_LACKS_REPLICAS,
    "NOAUTH": ServiceFinding.REDIS_REFUSES,
    "WRONGPASS": ServiceFinding.REDIS_REFUSES,
    "NOPERM": ServiceFinding.REDIS_REFUSES,
    "ERR invalid password": ServiceFinding.REDIS_REFUSES,
    "LOADING": ServiceFinding.REDIS_LOADING,
    "ERR max number of clients": ServiceFinding.REDIS_CROWDED,
}
"""The finding for the beginning of each error reply; a full memory is examined separately."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a Redis, in bytes.

    Attributes:
        most: how much Redis may use.
        ours: how much our keys use, among the examined keys.
        others: how much other keys use.
        keys: number of examined keys.
    """

    most: int
    ours: int
    others: int
    keys: int


def write(redis: Redis) -> None:
    """Write a key that expires.

    Raises:
        RedisError: if Redis does not accept it.
    """
    redis.set(CHECKED, "1", ex=CHECKED_S)


def takes_writes(redis: Redis) -> bool:
    """Return whether Redis accepts a write, without which no worker can acquire a lock."""
    try:
        write(redis)
    except RedisError:
        return False
    return True


def policy(redis: Redis) -> str | None:
    """Return Redis's policy for a full memory, or None if it is unknown (hosted services often forbid CONFIG)."""
    try:
        found = redis.config_get("maxmemory-policy")
    except ResponseError:
        return None
    return found.get("maxmemory-policy") if isinstance(found, dict) else None


def evictions(redis: Redis, policy: str | None) -> Notice | None:
    """Return a warning that Redis may have evicted locks and heartbeats, or None if no eviction is known.

    Args:
        redis: connection with its own time-outs.
        policy: what Redis does when its memory is full.

    Raises:
        RedisError: if Redis does not report it.
    """
    if policy in (None, KEEPS_ALL):
        return None
    count = int(redis.info("stats").get("evicted_keys", 0))
    return ServiceFinding.SIGNS_EVICTED(policy=policy, count=count) if count else None


def keeps_data(redis: Redis) -> bool:
    """Return whether Redis has its data again after a crash; a server that does not say is believed."""
    try:
        return bool(redis.info("persistence").get("aof_enabled", True))
    except ResponseError:
        return True


def words(error: RedisError) -> str:
    """Return Redis's own words; the client removes the first word if that has an exception class of its own."""
    first, told = getattr(error, "status_code", None), str(error)
    return (f"{first} {told}" if first else told)[:LONGEST_WORDS]


def memory(redis: Redis) -> Memory:
    """Return whose keys use the memory, measured on the first MOST_KEYS keys."""
    most = int(redis.info("memory")["maxmemory"])
    keys = list(islice(redis.scan_iter(count=1000), MOST_KEYS))
    pipe = redis.pipeline(transaction=False)
    for key in keys:
        pipe.memory_usage(key)
    sizes = dict(zip(keys, pipe.execute(), strict=True))
    ours = sum(size or 0 for key, size in sizes.items() if key.startswith(OURS.encode()))
    return Memory(most, ours, sum(size or 0 for size in sizes.values()) - ours, len(keys))


def refusal(error: RedisError) -> Notice | None:
    """Return why Redis accepts no writes, in its own words, or None if it has not answered."""
    told = words(error)
    for beginning, found in REFUSED.items():
        if told.startswith(beginning):
            return found(error=told)
    return ServiceFinding.REDIS_NOT_WRITABLE(error=told) if isinstance(error, ResponseError) else None


def why_not_written(redis: Redis, error: RedisError) -> Notice:
    """Return why nothing can be written to Redis.

    Args:
        redis: queried for the use of its memory, if that is the cause.
        error: the error that was raised.
    """
    if isinstance(error, OutOfMemoryError):
        return _full(words(error), memory(redis))
    return refusal(error) or why_silent(redis, error)


def _full(told: str, found: Memory) -> Notice:
    """Return the finding of a full memory, with whose keys fill it."""
    ours, others = found.ours / MIB, found.others / MIB
    return ServiceFinding.REDIS_FULL(
        error=told, most=found.most / MIB, ours=ours, others=others, keys=found.keys
    )
