"""kombu's transports with validation, because any client of Redis or RabbitMQ may have put messages into the queue.

kombu and Celery trust a message. An error in it ends the worker, and Celery's options in it (a time, a callback) make
the worker delay it or send other messages. So these channels pass on only the parts that deskbridge's own messages
have.
"""

from __future__ import annotations

import base64
import json
from datetime import datetime
from queue import Empty
from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis, virtual

from shared.queue.names import TASKS
from shared.telemetry.logs import get_logger

log = get_logger("queue")
LARGEST_MESSAGE = 64 * 1024
"""Maximum characters of a message's body; deskbridge's own have a few hundred."""

RABBITMQ = "shared.queue.rabbitmq"
"""The module of the transports for RabbitMQ, loaded only if it is used."""

LONGEST_NAME = 200
NOT_READABLE = "Pz8/"
"""A body that Celery cannot decode, so that it logs and acknowledges the message."""


def use_checked_transport() -> None:
    """Register this module's transports for all connections to Redis, its Sentinels or RabbitMQ."""
    TRANSPORT_ALIASES.update(
        redis=f"{__name__}:Transport",
        rediss=f"{__name__}:Transport",
        sentinel=f"{__name__}:SentinelTransport",
        amqp=f"{RABBITMQ}:Transport",
        pyamqp=f"{RABBITMQ}:Transport",
        amqps=f"{RABBITMQ}:TlsTransport",
    )


class CheckedMessage(virtual.Message):
    """A message reduced to the parts that deskbridge's own messages have.

    Args:
        payload: the message in Redis.
        options: the options of `virtual.Message`.
    """

    def __init__(self, payload: Any, **options: Any) -> None:
        super().__init__(checked(payload), **options)  # type: ignore[no-untyped-call]


class Checks:
    """The differences between deskbridge's channels and kombu's."""

    Message = CheckedMessage
    do_restore = False
    """Unprocessed messages are not restored: the worker itself or the sweep notifies again."""

    def _brpop_read(self, **options: Any) -> Any:
        """Read a message; drop it if it is not JSON."""
        try:
            return super()._brpop_read(**options)  # type: ignore[misc]
        except (ValueError, RecursionError):
            log.warning("a message that is not JSON is dropped")
            raise Empty from None


class Channel(Checks, redis.Channel):
    """A channel to Redis."""


class SentinelChannel(Checks, redis.SentinelChannel):
    """A channel to the Redis server that Sentinels name."""


class Transport(redis.Transport):
    """The transport for redis:// and rediss://."""

    Channel = Channel


class SentinelTransport(redis.SentinelTransport):
    """The transport for sentinel://."""

    Channel = SentinelChannel


def checked(payload: Any) -> dict[str, Any]:
    """Return a message with only the expected parts; if one of them is invalid, return an unreadable message.

    Args:
        payload: a value from the queue, of any form.
    """
    try:
        headers, properties = payload["headers"], payload["properties"]
        task, body = headers["task"], _body(payload["body"])
        name, tag, expires = _name(headers["id"]), _name(properties["delivery_tag"]), headers["expires"]
        if task not in TASKS:
            raise ValueError(task)
        if expires is not None:
            datetime.fromisoformat(expires)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        task, name, tag, expires, body = TASKS[0], "unreadable", "unreadable", None, NOT_READABLE
    return {
        "body": body,
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": {"lang": "py", "task": task, "id": name, "root_id": name, "expires": expires},
        "properties": {
            "correlation_id": name,
            "delivery_info": {"exchange": "", "routing_key": ""},
            "body_encoding": "base64",
            "delivery_tag": tag,
        },
    }


def _body(text: str) -> str:
    """Return a body with only the keyword arguments of another; the task checks them itself."""
    if len(text) > LARGEST_MESSAGE:
        raise ValueError("too large")
    _, arguments, _ = json.loads(base64.b64decode(text, validate=True))
    if not isinstance(arguments, dict):
        raise TypeError("no keyword arguments")
    return base64.b64encode(json.dumps([[], arguments, {}]).encode()).decode()


def _name(text: Any) -> str:
    if not isinstance(text, str) or not 0 < len(text) <= LONGEST_NAME or not text.isprintable():
        raise ValueError("no name")
    return text
