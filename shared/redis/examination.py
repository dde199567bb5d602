"""The doctor's last check results, kept in Redis for a quarter of an hour, for processes that show or count them.

Other clients may write to Redis too: values that no doctor can have written are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from redis import Redis
from redis.exceptions import ResponseError

from shared.redis.keys import OURS, is_of_another_type, key_of

KEY = f"{OURS}examination"
KEPT_S = 15 * 60


def keep(redis: Redis, found: Sequence[dict[str, Any]]) -> None:
    """Store the check results that are not OK.

    Args:
        redis: connection with its own time-outs.
        found: each result that is not OK, as plain JSON data with its `check` and `status`.

    Raises:
        RedisError: if a call to Redis fails.
    """
    redis.set(key_of(redis, KEY), json.dumps(list(found), default=str), ex=KEPT_S)


def forget(redis: Redis) -> None:
    """Delete the results: they can name a person.

    Raises:
        RedisError: if a call to Redis fails.
    """
    redis.delete(key_of(redis, KEY))


def kept(redis: Redis) -> list[dict[str, Any]] | None:
    """Return the results that were not OK in the doctor's last run, or None if there was no recent run.

    Args:
        redis: connection with its own time-outs.

    Raises:
        RedisError: if a call to Redis fails.
    """
    try:
        text = redis.get(key_of(redis, KEY))
    except ResponseError as error:
        if is_of_another_type(error):
            return None
        raise
    try:
        found = json.loads(text or "null")
    except ValueError:
        return None
    if not isinstance(found, list):
        return None
    return [one for one in found if isinstance(one, dict)]
