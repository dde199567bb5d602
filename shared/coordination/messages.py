"""Rings as Celery's messages: each is what its `send_task` would send, of which all but the names is made once."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import uuid4

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
        queue: where they are sent.
    """

    def __init__(self, amqp: AMQP, task: str, queue: str) -> None:
        self._amqp, self._task, self._queue = amqp, task, queue

    @cached_property
    def _alike(self) -> Message:
        headers, properties, body, _ = self._amqp.as_task_v2("", self._task, (), {}, **QUIET)
        return headers, properties, body

    def made(self, ring: Mapping[str, Any]) -> Message:
        """Return a message's headers, properties and body.

        Args:
            ring: what it says.
        """
        headers, properties, (arguments, _, embedded) = self._alike
        name = str(uuid4())
        named = {**headers, "id": name, "root_id": name}
        return named, {**properties, "correlation_id": name}, (arguments, ring, embedded)

    def in_redis(self, ring: Mapping[str, Any]) -> str:
        """Return a message as kombu keeps it in Redis.

        Args:
            ring: what it says.
        """
        headers, properties, body = self.made(ring)
        return json.dumps(
            {
                "body": base64.b64encode(json.dumps(body).encode()).decode(),
                "content-encoding": "utf-8",
                "content-type": "application/json",
                "headers": headers,
                "properties": {
                    **properties,
                    "delivery_mode": 2,
                    "delivery_info": {"exchange": "", "routing_key": self._queue},
                    "priority": 0,
                    "body_encoding": "base64",
                    "delivery_tag": str(uuid4()),
                },
            }
        )
