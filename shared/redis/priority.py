"""Tickets that go ahead of a backlog: a person waits for them."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from redis import Redis
from redis.exceptions import ResponseError

from shared.redis.keys import OURS, is_of_another_type, key_of
from shared.values.ids import is_id

KEY = f"{OURS}ahead"
KEPT_S = 60
DIGITS = re.compile("[0-9]{1,19}")
MOST = 100
"""What is more than that is a backlog itself."""
TAKEN_AT_ONCE = 8


class PriorityTickets:
    """The tickets that go first. They are notified, too; here a busy worker finds them.

    Args:
        redis: connection with its own time-outs.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    def put(self, ticket_ids: Collection[int]) -> None:
        """Have some tickets go ahead, if they are few.

        Raises:
            RedisError: they do not.
        """
        if not 0 < len(ticket_ids) <= MOST:
            return
        key = key_of(self._redis, KEY)
        with self._redis.pipeline(transaction=False) as pipe:
            pipe.sadd(key, *ticket_ids)
            pipe.expire(key, KEPT_S)
            pipe.execute()

    def take(self) -> list[int]:
        """Return some of them, which nobody else is given.

        Raises:
            RedisError: nobody knows.
        """
        key = key_of(self._redis, KEY)
        try:
            found: Any = self._redis.spop(key, TAKEN_AT_ONCE)
        except ResponseError as error:
            if not is_of_another_type(error):
                raise
            self._redis.delete(key)
            return []
        texts = [one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in found]
        return [one for one in map(int, filter(DIGITS.fullmatch, texts)) if is_id(one)]
