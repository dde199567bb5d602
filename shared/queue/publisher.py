"""The publisher: Celery's configuration and the message, shared by both sides (what was measured: docs/decisions).

A queue message holds some tickets' ids and nothing else. Losing one loses nothing: the sweep notifies again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NoReturn

from celery import Celery
from kombu import compression
from kombu.connection import Connection
from kombu.entity import Exchange, Queue
from kombu.exceptions import ChannelError, ConnectionError, DecodeError, OperationalError
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from shared.process.sentinels import sentinels
from shared.process.settings import Settings
from shared.queue.envelope import Messages
from shared.queue.messages import (
    MOST_TICKETS,
    PRUNE,
    SWEEP,
    SYNC_METADATA,
    SYNC_TICKET,
    guard_queue,
    message_of,
)
from shared.redis.keys import OURS
from shared.redis.locks import connected
from shared.telemetry.logs import get_logger

__all__ = ["PRUNE", "QUEUE", "SWEEP", "SYNC_METADATA", "SYNC_TICKET", "Publisher", "make_celery", "queue_of"]

log = get_logger("publisher")

BROKER_ERRORS = (OperationalError, ConnectionError, ChannelError, OSError, RedisError)
"""What a broker that is away, or that refuses, is seen by: Redis or RabbitMQ."""

BROKEN = (RedisConnectionError, RedisTimeoutError, AttributeError)
"""A connection that had gone unnoticed; and one that breaks while the queue is declared, after which kombu publishes to
the channel that it has just closed. The next one is another."""

RABBITMQ = ("amqp:", "amqps:", "pyamqp:")
REPLICATED = {"x-queue-type": "quorum"}
"""A queue that RabbitMQ keeps on several nodes; Celery looks here, too, how it may limit what it prefetches."""

PATIENCE_S = 2.0
"""Of whoever publishes: a broker that is frozen delays nobody."""

QUEUE = "deskbridge"
"""How the queue of every installation begins."""


def queue_of(settings: Settings, installation: str | None) -> Queue:
    """Return the queue of an installation; several may share a broker, and none takes another's messages.

    Args:
        settings: BROKER_URL, REDIS_URL.
        installation: its id; None: nobody's queue, of a process that has none of its own.
    """
    is_rabbitmq = settings.broker.startswith(RABBITMQ)
    name = QUEUE if installation is None else f"{QUEUE}.{installation}"
    return Queue(name, Exchange(name), routing_key=name, queue_arguments=REPLICATED if is_rabbitmq else None)


def make_celery(settings: Settings, installation: str | None = None, *, publish_only: bool = False) -> Celery:
    """Return a Celery application on which no guarantee rests: what it loses, the sweep notifies again.

    Args:
        settings: the process's settings.
        installation: whose queue is consumed; None: none is, and what is sent names its queue.
        publish_only: for processes that only message: shorter time-outs, so that a frozen broker delays nobody.
    """
    _refuse_bombs()
    named, is_rabbitmq = sentinels(settings.broker), settings.broker.startswith(RABBITMQ)
    queue = queue_of(settings, installation)
    app = Celery("deskbridge", broker=named.broker if named else settings.broker, set_as_current=False)
    app.conf.update(
        task_default_queue=queue.name,
        task_queues=[queue],
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        result_backend=None,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_acks_on_failure_or_timeout=False,
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=not is_rabbitmq,  # it can be had with Redis alone
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_soft_shutdown_timeout=20,
        worker_enable_soft_shutdown_on_idle=True,
        worker_hijack_root_logger=False,
        worker_send_task_events=False,
        worker_enable_remote_control=False,  # or whoever can write to Redis could end every worker
        broker_connection_retry_on_startup=True,
        broker_channel_error_retry=True,  # a Redis that is there may refuse, too: read-only, its disk full
        broker_connection_max_retries=None,
        broker_transport_options=_transport_options(settings.broker, publish_only=publish_only),
        task_publish_retry_policy={"max_retries": 1, "interval_start": 0, "interval_max": 0.2},
        broker_native_delayed_delivery_queue_type="classic",  # Celery makes 28 of them, and nothing of ours is delayed
        timezone="UTC",
    )
    return app


def _refuse_bombs() -> None:
    """Let no message make a worker use more memory than it has itself: no message is large, and none is compressed.

    Whoever can write to Redis could otherwise send a kilobyte that inflates to a gigabyte. What is refused here is to
    Celery a message that it cannot decode.
    """
    guard_queue()
    for method in compression.encoders():
        compression.register(compression.get_encoder(method)[0], _refuse, method)


def _refuse(_body: bytes) -> NoReturn:
    raise DecodeError("no ring is compressed")


def _transport_options(broker: str, *, publish_only: bool) -> dict[str, object]:
    if not broker.startswith("redis"):
        return {}
    patience = {
        "socket_timeout": PATIENCE_S if publish_only else 10,
        "socket_connect_timeout": PATIENCE_S if publish_only else 3,
    }
    named = sentinels(broker)
    asked = {"master_name": named.master, "sentinel_kwargs": patience | named.of_sentinel} if named else {}
    return {
        **asked,
        **patience,
        "global_keyprefix": OURS,
        "ack_emulation": False,  # what a worker loses that is killed, the sweep messages long before Redis would
        "socket_keepalive": True,
        "health_check_interval": 15,
    }


def types_of(queue: Queue) -> dict[str, str]:
    """Return what Celery keeps in Redis of a queue: the type of each key."""
    return {f"{OURS}{queue.name}": "list", f"{OURS}_kombu.binding.{queue.name}": "set"}


def drop_strange_keys(settings: Settings, installation: str) -> None:
    """Delete what stands in Redis where Celery keeps its own and is of another type: no worker could start beside it.

    Nothing is lost with it: the sweep notifies again.

    Args:
        settings: BROKER_URL, REDIS_URL.
        installation: whose queue it is.

    Raises:
        RedisError: the broker cannot be asked.
    """
    if not settings.broker.startswith("redis"):
        return
    with connected(Redis, settings.broker) as redis:
        for key, kind in types_of(queue_of(settings, installation)).items():
            found = redis.type(key).decode()
            if found not in (kind, "none"):
                log.warning("a key in Redis that is none of Celery's is dropped", key=key, type=found)
                redis.delete(key)


class Publisher:
    """Notifies tickets. A queue message that fails is no error: the sweep notifies later.

    Args:
        settings: the process's settings.
        whose: returns the id of the installation whose workers it messages (`shared.redis.installation`).
    """

    def __init__(self, settings: Settings, whose: Callable[[], str]) -> None:
        self._settings, self._whose = settings, whose
        self._app = make_celery(settings, publish_only=True)
        self._messages = Messages(self._app.amqp, SYNC_TICKET)
        self._is_redis = settings.broker.startswith("redis")
        self._connection: Connection | None = None
        self._redis: Redis | None = None

    def notify(
        self, ticket_ids: Iterable[int], traces: Mapping[int, str] | None = None, *, if_due: bool = False
    ) -> bool:
        """Publish messages that name some tickets each; False where the broker could not be reached.

        Args:
            ticket_ids: the tickets.
            traces: by ticket the traceparent of the message, where a trace is recorded.
            if_due: whether those are left out of which no event is due any more once a worker takes the message.
        """
        ids = list(ticket_ids)
        if not ids:
            return True
        starts = range(0, len(ids), MOST_TICKETS)
        messages = [message_of(ids[at : at + MOST_TICKETS], traces, if_due=if_due) for at in starts]
        try:
            try:
                self._publish(messages)
            except BROKEN:
                self._redis = None
                self._publish(messages)
        except (*BROKER_ERRORS, *BROKEN) as error:
            log.warning("not notified; the sweep notifies later", error=type(error).__name__)
            return False
        return True

    def _publish(self, messages: Sequence[dict[str, object]]) -> None:
        """Publish messages: into Redis as kombu would leave them there, in one round trip and a third of its time."""
        queue = queue_of(self._settings, self._whose())
        if self._is_redis:
            redis = self._redis or self._connected()
            redis.lpush(f"{OURS}{queue.name}", *map(self._messages.in_redis, messages))
            return
        conf = self._app.conf
        with self._app.producer_or_acquire() as producer:
            for notify in messages:
                headers, properties, body = self._messages.made(notify)
                producer.publish(
                    body,
                    routing_key=queue.name,
                    headers=headers,
                    serializer=conf.task_serializer,
                    declare=[queue],
                    retry=True,
                    retry_policy=conf.task_publish_retry_policy,
                    **properties,
                )

    def _connected(self) -> Redis:
        """Return the broker's Redis by kombu's own connections: it alone reads its address as workers do."""
        connection = self._app.connection_for_write()
        connection.ensure_connection(max_retries=1, interval_start=0, interval_step=0, timeout=PATIENCE_S)
        redis = Redis(connection_pool=connection.channel().pool)
        if self._connection is not None:
            self._connection.release()
        self._connection, self._redis = connection, redis
        return redis

    def is_answering(self) -> bool:
        """Tell whether the broker can be reached."""
        try:
            with self._app.connection_for_write() as connection:
                connection.ensure_connection(
                    max_retries=1, interval_start=0, interval_step=0, timeout=PATIENCE_S
                )
        except BROKER_ERRORS:
            return False
        return True
