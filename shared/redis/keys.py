"""What every key of ours in Redis begins with, and whose it is: several installations may share one Redis database."""

from __future__ import annotations

from collections.abc import Callable

from redis import Redis
from redis.exceptions import ResponseError

OURS = "deskbridge:"
INSTALLATIONS = f"{OURS}installations"
"""Which installations use this Redis database, by when each was seen last; the one key that they share."""


class InstallationRedis(Redis):
    """A connection that knows whose keys it uses.

    Attributes:
        whose: returns the installation's id; raises a RedisError if that cannot be known at the moment.
    """

    whose: Callable[[], str]


def key_of(redis: Redis, key: str) -> str:
    """Return a key as it stands in Redis: `deskbridge:breaker` of the installation 5ac1 is `deskbridge:5ac1:breaker`.

    Args:
        redis: the connection; one that knows no installation uses the key as it is.
        key: begins with OURS.

    Raises:
        RedisError: whose keys they are cannot be known at the moment.
    """
    if not isinstance(redis, InstallationRedis):
        return key
    return key_of_installation(redis.whose(), key)


def key_of_installation(installation: str, key: str) -> str:
    """Return the key of another installation, in the same way."""
    return f"{OURS}{installation}:{key.removeprefix(OURS)}"


def is_of_another_type(error: ResponseError) -> bool:
    """Return whether a key holds what no process of ours writes: Redis refuses a command for other reasons, too.

    Args:
        error: what a command for the key was answered.
    """
    return str(error).startswith("WRONGTYPE")
