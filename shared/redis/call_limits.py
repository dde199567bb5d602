"""The concurrency limit of each worker's calls to the tracker, which workers publish in Redis for other processes.

Other clients may write to Redis too: a value that no worker can have written is ignored.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from redis import Redis
from redis.exceptions import ResponseError

from shared.notices.limits import CallLimit, CallLimitBy
from shared.process.itself import Process
from shared.redis.heartbeat import WORKER, Heartbeats
from shared.redis.keys import OURS, is_of_another_type, key_of

KEY = f"{OURS}calls:"
KEPT_S = 30
LARGEST = 1024
MOST = 10**6


@dataclass(frozen=True, slots=True)
class WorkerLimit:
    """A worker's concurrency limit.

    Attributes:
        process: the worker.
    """

    process: Process
    limit: CallLimit


def publish(redis: Redis, process: Process, limit: CallLimit) -> None:
    """Publish a worker's limit; it expires when a worker without a heartbeat no longer counts as alive.

    Args:
        redis: connection with its own time-outs.
        process: the worker.
        limit: the concurrency limit.

    Raises:
        RedisError: if a call to Redis fails.
    """
    redis.set(_key(redis, process), json.dumps(asdict(limit)), ex=KEPT_S)


def published(redis: Redis) -> list[WorkerLimit]:
    """Return the limits of all live workers.

    Args:
        redis: connection with its own time-outs.

    Raises:
        RedisError: if a call to Redis fails.
    """
    workers = [one.process for one in Heartbeats(redis).seen(WORKER) if one.seconds <= KEPT_S]
    found = [(process, _limit(_stored(redis, process))) for process in workers]
    return [WorkerLimit(process, limit) for process, limit in found if limit]


def _key(redis: Redis, process: Process) -> str:
    return key_of(redis, f"{KEY}{process.host}:{process.pid}")


def _stored(redis: Redis, process: Process) -> str | bytes:
    try:
        found: str | bytes = redis.getrange(_key(redis, process), 0, LARGEST)
    except ResponseError as error:
        if not is_of_another_type(error):
            raise
        return b""
    return found


def _limit(stored: str | bytes) -> CallLimit | None:
    try:
        found = json.loads(stored)
        limit = CallLimit(int(found["size"]), CallLimitBy(found["why"]), float(found["ratio"]))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    return limit if 1 <= limit.size <= MOST and 1 <= limit.ratio <= MOST else None
