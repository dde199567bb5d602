"""The configuration of the Celery application for publishers, workers and beat.

No guarantee depends on Celery: if a message is lost, the sweep notifies again. An installation has two queues. Workers
read the priority queue first, which has the tickets that people wait for.
"""

from __future__ import annotations

from typing import NoReturn

from celery import Celery
from kombu import compression
from kombu.entity import Exchange, Queue
from kombu.exceptions import ChannelError, ConnectionError, DecodeError, OperationalError
from redis import Redis
from redis.exceptions import RedisError

from shared.process.sentinels import sentinels
from shared.process.settings import Settings
from shared.queue.transport import use_checked_transport
from shared.redis.keys import OURS
from shared.redis.locks import connected
from shared.telemetry.logs import get_logger

log = get_logger("queue")

BROKER_ERRORS = (OperationalError, ConnectionError, ChannelError, OSError, RedisError)
"""Errors if the broker, Redis or RabbitMQ, is down or refuses a command."""

RABBITMQ = ("amqp:", "amqps:", "pyamqp:")
REPLICATED = {"x-queue-type": "quorum"}
"""Declares a queue that RabbitMQ replicates to several nodes; Celery also chooses its prefetch method by this."""

PUBLISH_TIMEOUT_S = 2.0
CONSUME_TIMEOUT_S, CONNECT_TIMEOUT_S = 10.0, 3.0
QUEUE = "deskbridge"


def queue_of(settings: Settings, installation: str | None, *, has_priority: bool = False) -> Queue:
    """Return a queue of an installation. Installations may share a broker, but none reads another's messages.

    Args:
        settings: environment settings with BROKER_URL and REDIS_URL.
        installation: its id; None returns a queue that no process uses, for a process without queues of its own.
        has_priority: whether to return the priority queue, for tickets that a person waits for.
    """
    name = QUEUE if installation is None else f"{QUEUE}.{installation}"
    if has_priority:
        name += ".priority"
    arguments = REPLICATED if settings.broker.startswith(RABBITMQ) else None
    return Queue(name, Exchange(""), routing_key=name, queue_arguments=arguments)


def make_celery(settings: Settings, installation: str | None = None, *, publish_only: bool = False) -> Celery:
    """Return the Celery application of a process.

    Args:
        settings: the process's environment settings.
        installation: the installation whose queues are consumed; None if none are, and each message names its queue.
        publish_only: whether the process only publishes, with shorter time-outs so a hanging broker delays no request.
    """
    use_checked_transport()
    _refuse_compression()
    is_rabbitmq = settings.broker.startswith(RABBITMQ)
    named = sentinels(settings.broker)
    first, normal = (queue_of(settings, installation, has_priority=which) for which in (True, False))
    app = Celery("deskbridge", broker=named.broker if named else settings.broker, set_as_current=False)
    app.conf.update(
        task_default_queue=normal.name,
        task_default_exchange="",  # routes by queue name, without a binding that can be lost
        task_default_routing_key=normal.name,
        task_queues=[first, normal],
        task_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        result_backend=None,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_acks_on_failure_or_timeout=False,
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=not is_rabbitmq,  # only supported with Redis
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_soft_shutdown_timeout=20,
        worker_enable_soft_shutdown_on_idle=True,
        worker_hijack_root_logger=False,
        worker_send_task_events=False,
        worker_enable_remote_control=False,  # otherwise any client of Redis could stop every worker
        broker_connection_retry_on_startup=True,
        broker_channel_error_retry=True,  # Redis may be up but refuse commands: read-only, disk full
        broker_connection_max_retries=None,
        broker_transport_options=_transport_options(settings.broker, publish_only=publish_only),
        task_publish_retry_policy={"max_retries": 1, "interval_start": 0, "interval_max": 0.2},
        broker_native_delayed_delivery_queue_type="classic",  # Celery declares 28 of these, for delays unused here
        timezone="UTC",
    )
    return app


def _refuse_compression() -> None:
    """Refuse compressed messages, because a kilobyte can inflate to a gigabyte of memory."""
    for method in compression.encoders():
        compression.register(compression.get_encoder(method)[0], _refuse, method)


def _refuse(_body: bytes) -> NoReturn:
    raise DecodeError("no message of ours is compressed")


def _transport_options(broker: str, *, publish_only: bool) -> dict[str, object]:
    connect_s = PUBLISH_TIMEOUT_S if publish_only else CONNECT_TIMEOUT_S
    if broker.startswith(RABBITMQ):
        timeouts = ("connect_timeout", "read_timeout", "write_timeout") if publish_only else ()
        return dict.fromkeys(timeouts, connect_s)
    if not broker.startswith("redis"):
        return {}
    timeouts_s = {
        "socket_timeout": PUBLISH_TIMEOUT_S if publish_only else CONSUME_TIMEOUT_S,
        "socket_connect_timeout": connect_s,
    }
    named = sentinels(broker)
    asked = {"master_name": named.master, "sentinel_kwargs": timeouts_s | named.of_sentinel} if named else {}
    return {
        **asked,
        **timeouts_s,
        "global_keyprefix": OURS,
        "priority_steps": [0],  # one list for each queue
        "queue_order_strategy": "priority",  # in the order of task_queues
        "ack_emulation": False,  # if a worker is killed, the sweep notifies long before Redis would redeliver
        "socket_keepalive": True,
        "health_check_interval": 15,
    }


def waiting(app: Celery) -> int:
    """Return the number of messages in the queues of an application.

    Raises:
        BROKER_ERRORS: if the broker is down or refuses a command.
    """
    with app.connection_for_read() as connection, connection.channel() as channel:
        # not declared passively, since kombu looks for a passive queue without the key prefix
        counts = [one.bind(channel).queue_declare().message_count for one in app.amqp.queues.values()]
    return sum(map(int, counts))


def drop_strange_keys(settings: Settings, installation: str) -> None:
    """Delete keys in Redis that have a queue's name but another type, since they keep workers from starting.

    Nothing is lost, because the sweep notifies again.

    Args:
        settings: environment settings with BROKER_URL and REDIS_URL.
        installation: the installation that the queues belong to.

    Raises:
        RedisError: if a call to Redis fails.
    """
    if not settings.broker.startswith("redis"):
        return
    with connected(Redis, settings.broker) as redis:
        for has_priority in (True, False):
            key = f"{OURS}{queue_of(settings, installation, has_priority=has_priority).name}"
            found = redis.type(key).decode()
            if found not in ("list", "none"):
                log.warning("a key in Redis that is none of Celery's is dropped", key=key, type=found)
                redis.delete(key)
