"""Names of deskbridge's keys in Redis; they contain the installation, since several may share a Redis database."""

from __future__ import annotations

from collections.abc import Callable

from redis import Redis
from redis.exceptions import ResponseError

OURS = "deskbridge:"
INSTALLATIONS = f"{OURS}installations"
"""The installations that use this Redis database, by the time of their last heartbeat; the key that they share."""


class InstallationRedis(Redis):
    """A connection that belongs to an installation and uses its keys.

    Attributes:
        whose: returns the installation's id; raises a RedisError if the id is unknown at the moment.
        is_of_default: whether no REDIS_URL is set.
    """

    whose: Callable[[], str]
    is_of_default: bool = False


def key_of(redis: Redis, key: str) -> str:
    """Return the full key in Redis: `deskbridge:pause` of installation 5ac1 is `deskbridge:5ac1:pause`.

    Args:
        redis: the connection; without an installation, the key is unchanged.
        key: the key, which begins with OURS.

    Raises:
        RedisError: if the installation is unknown at the moment.
    """
    if not isinstance(redis, InstallationRedis):
        return key
    return key_of_installation(redis.whose(), key)


def key_of_installation(installation: str, key: str) -> str:
    """Return the full key of a given installation."""
    return f"{OURS}{installation}:{key.removeprefix(OURS)}"


def is_of_another_type(error: ResponseError) -> bool:
    """Return whether a command failed because its key has another type, so that deskbridge did not write it.

    Args:
        error: Redis' answer to the command.
    """
    return str(error).startswith("WRONGTYPE")
