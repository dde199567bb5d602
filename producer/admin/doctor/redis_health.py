"""How Redis itself is: whether it keeps what it is given, and who fills its memory."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from redis import Redis
from redis.exceptions import RedisError

from shared.redis.keys import OURS

CHECKED = f"{OURS}checked"
CHECKED_S = 60
MOST_KEYS = 5000
LONGEST_WORDS = 200


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
    """Return Redis's own words: its client takes the first one away where that has an exception of its own."""
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
