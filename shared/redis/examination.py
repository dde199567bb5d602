"""What the doctor found last, kept in Redis for a quarter of an hour: for anyone who shows or counts it.

What Redis holds may be anyone's: what no doctor can have written does not count.
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
    """Keep what is not well.

    Args:
        redis: connection with its own time-outs.
        found: each part that is not well, as plain JSON data with its `check` and `status`.

    Raises:
        RedisError: it is not taken.
    """
    redis.set(key_of(redis, KEY), json.dumps(list(found), default=str), ex=KEPT_S)


def kept(redis: Redis) -> list[dict[str, Any]] | None:
    """Return what was not well when the doctor last looked; None: no one looked lately.

    Args:
        redis: connection with its own time-outs.

    Raises:
        RedisError: it cannot be told.
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
