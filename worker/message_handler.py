"""Hands a queue message over in the thread that has read it; Celery's own way is only for one that has to wait.

That way makes a request of each message, crosses a thread of the pool, and traces what it does there: more than to put
some numbers into a list, which is all there is to do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from celery import Celery, Task
from celery.worker.strategy import default

from shared.queue.messages import QueueMessage

Handler = Callable[..., Any]


def at_once(take: Callable[[Mapping[str, Any]], bool]) -> staticmethod[..., Handler]:
    """Return the strategy of a task (Celery's word for what becomes of its messages).

    Args:
        take: takes what a queue message says; False where it cannot be taken without waiting.
    """

    def strategy(task: Task, app: Celery, consumer: Any) -> Handler:
        by_a_thread: Handler = default(task, app, consumer)

        def handle(message: Any, *others: Any) -> None:
            named = _message_in(message)
            if named and take(named):
                message.ack()
            else:
                by_a_thread(message, *others)

        return handle

    return staticmethod(strategy)


def _message_in(message: Any) -> Mapping[str, Any]:
    """Return what a queue message says; nothing if it was not read (RabbitMQ), cannot be read, or may be too old."""
    if not isinstance(message, QueueMessage) or not message.is_readable or message.headers["expires"]:
        return {}
    _, named, _ = json.loads(message.body)
    return cast(Mapping[str, Any], named)
