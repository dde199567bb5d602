"""kombu's transports for RabbitMQ, with the same validation as those for Redis."""

from __future__ import annotations

import base64
from typing import Any

from kombu.transport import pyamqp

from shared.queue.transport import checked


class CheckedMessage(pyamqp.Message):
    """A message from RabbitMQ, reduced in the same way.

    Args:
        msg: the message as it arrived.
        channel: its channel.
        options: the options of `pyamqp.Message`.
    """

    def __init__(self, msg: Any, channel: Any = None, **options: Any) -> None:
        body = msg.body.encode() if isinstance(msg.body, str) else msg.body
        found = checked(
            {
                "headers": msg.properties.get("application_headers"),
                "properties": {"delivery_tag": str(msg.delivery_tag)},
                "body": base64.b64encode(body).decode(),
            }
        )
        msg.body = base64.b64decode(found["body"])
        msg.properties = {
            "application_headers": found["headers"],
            "content_type": found["content-type"],
            "content_encoding": found["content-encoding"],
            "correlation_id": found["headers"]["id"],
        }
        super().__init__(msg, channel, **options)  # type: ignore[no-untyped-call]


class CheckedChannel(pyamqp.Channel):
    """A channel to RabbitMQ."""

    Message = CheckedMessage


class CheckedConnection(pyamqp.Connection):
    """A connection to RabbitMQ."""

    Channel = CheckedChannel


class Transport(pyamqp.Transport):
    """The transport for amqp://."""

    Connection = CheckedConnection


class TlsTransport(pyamqp.SSLTransport):
    """The transport for amqps://."""

    Connection = CheckedConnection
