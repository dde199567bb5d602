"""How Redis itself is: whether it keeps what it is given, and who fills its memory."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from redis import Redis
from redis.exceptions import OutOfMemoryError, RedisError, ResponseError

from shared.notices.doctor_service import ServiceFinding
from shared.notices.notice import Notice
from shared.redis.keys import OURS

CHECKED = f"{OURS}checked"
CHECKED_S = 60
MOST_KEYS = 5000
LONGEST_WORDS = 200
MIB = 1024 * 1024
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
"""What is found if Redis answers so; the memory that is used up is looked into."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a Redis, in bytes.

    Attributes:
        most: how much it may use.
        ours: how much our keys use, of the keys that were looked at.
        others: how much other keys use.
        keys: how many keys were looked at.
    """

    most: int
    ours: int
    others: int
    keys: int


def write(redis: Redis) -> None:
    """Write a key that ends by itself.

    Raises:
        RedisError: it is not taken.
    """
    redis.set(CHECKED, "1", ex=CHECKED_S)


def words(error: RedisError) -> str:
    """Return Redis's own words: its client takes the first one away if that has an exception of its own."""
    first, told = getattr(error, "status_code", None), str(error)
    return (f"{first} {told}" if first else told)[:LONGEST_WORDS]


def memory(redis: Redis) -> Memory:
    """Return who uses the memory, as far as the first keys tell."""
    most = int(redis.info("memory")["maxmemory"])
    keys = list(islice(redis.scan_iter(count=1000), MOST_KEYS))
    pipe = redis.pipeline(transaction=False)
    for key in keys:
        pipe.memory_usage(key)
    sizes = dict(zip(keys, pipe.execute(), strict=True))
    ours = sum(size or 0 for key, size in sizes.items() if key.startswith(OURS.encode()))
    return Memory(most, ours, sum(size or 0 for size in sizes.values()) - ours, len(keys))


def refusal(error: RedisError) -> Notice | None:
    """Return why Redis takes nothing, in its own words; None: it has not answered."""
    told = words(error)
    for beginning, found in REFUSED.items():
        if told.startswith(beginning):
            return found(error=told)
    return ServiceFinding.REDIS_NOT_WRITABLE(error=told) if isinstance(error, ResponseError) else None


def why_not_written(redis: Redis, error: RedisError) -> Notice:
    """Return why nothing can be written to Redis.

    Args:
        redis: asked whose memory is used up, if that is the cause.
        error: what was raised.
    """
    if isinstance(error, OutOfMemoryError):
        return _full(words(error), memory(redis))
    return refusal(error) or ServiceFinding.REDIS_UNREACHABLE(error=type(error).__name__)


def _full(told: str, found: Memory) -> Notice:
    """Say whose memory is used up."""
    ours, others = found.ours / MIB, found.others / MIB
    return ServiceFinding.REDIS_FULL(
        error=told, most=found.most / MIB, ours=ours, others=others, keys=found.keys
    )
