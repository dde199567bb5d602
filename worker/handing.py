"""Hands a ring over in the thread that has read it; Celery's own way is only for one that has to wait.

That way makes a request of each message, crosses a thread of the pool, and traces what it does there: more than to put
some numbers into a list, which is all there is to do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from celery import Celery, Task
from celery.worker.strategy import default

from shared.coordination.rings import Ring

Handler = Callable[..., Any]


def at_once(take: Callable[[Mapping[str, Any]], bool]) -> staticmethod[..., Handler]:
    """Return the strategy of a task (Celery's word for what becomes of its messages).

    Args:
        take: takes what a ring says; False where it cannot be taken without waiting.
    """

    def strategy(task: Task, app: Celery, consumer: Any) -> Handler:
        by_a_thread: Handler = default(task, app, consumer)

        def handle(message: Any, *others: Any) -> None:
            ring = _ring_in(message)
            if ring and take(ring):
                message.ack()
            else:
                by_a_thread(message, *others)

        return handle

    return staticmethod(strategy)


def _ring_in(message: Any) -> Mapping[str, Any]:
    """Return what a ring says; nothing where nobody has read it (RabbitMQ), or nobody can, or it may be too old."""
    if not isinstance(message, Ring) or not message.is_readable or message.headers["expires"]:
        return {}
    _, ring, _ = json.loads(message.body)
    return cast(Mapping[str, Any], ring)
