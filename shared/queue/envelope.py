"""Celery's messages: each is what its `send_task` would send, of which all but the names is made once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from shared.queue.messages import as_in_redis, encoded

if TYPE_CHECKING:
    from celery.app.amqp import AMQP

Message = tuple[dict[str, Any], dict[str, Any], tuple[Any, ...]]

QUIET = {"argsrepr": "", "kwargsrepr": ""}
"""What a message would say of itself to people, who never look; a worker takes nothing of it."""


class Messages:
    """Makes the messages of one task.

    Args:
        amqp: what makes messages of Celery's application.
        task: the task's name.
    """

    def __init__(self, amqp: AMQP, task: str) -> None:
        self._amqp, self._task = amqp, task

    @cached_property
    def _alike(self) -> Message:
        headers, properties, body, _ = self._amqp.as_task_v2("", self._task, (), {}, **QUIET)
        return headers, properties, body

    def made(self, notify: Mapping[str, Any]) -> Message:
        """Return a message's headers, properties and body.

        Args:
            notify: what it says.
        """
        headers, properties, (arguments, _, embedded) = self._alike
        name = str(uuid4())
        named = {**headers, "id": name, "root_id": name}
        return named, {**properties, "correlation_id": name}, (arguments, notify, embedded)

    def in_redis(self, notify: Mapping[str, Any]) -> str:
        """Return a message as kombu keeps it in Redis.

        Args:
            notify: what it says.
        """
        headers, properties, body = self.made(notify)
        return json.dumps(as_in_redis(headers, encoded(body), properties["correlation_id"], str(uuid4())))
