"""Whatever Redis holds in the keys that deskbridge reads and in a real worker's queue, every process continues."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from deploy.sandbox.tracker.control import StandIn
from producer.admin.doctor.examination import examine
from producer.admin.doctor.installation import Installation
from producer.admin.services import Services
from shared.errors import LockBusy
from shared.process.itself import Process
from shared.redis.call_limits import KEY as LIMITS
from shared.redis.call_limits import published
from shared.redis.circuit_breaker import KEY
from shared.redis.heartbeat import BEAT, WORKER, Heartbeats
from shared.redis.heartbeat import KEY as SEEN
from shared.redis.keys import key_of
from shared.redis.locks import Locks
from shared.redis.rate_limit import KEY as THROTTLE
from shared.redis.rate_limit import RateLimiter
from tests.fuzz.chance import BYTES, HURTFUL, Chance
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket
from tests.support.fleet import Fleet
from tests.support.queue import TASKS, arguments, queue_key

HERE = Process.here()
KEYS = (
    f"{LIMITS}{HERE.host}:{HERE.pid}",
    KEY,
    f"{KEY}:probe",
    THROTTLE,
    SEEN + WORKER,
    SEEN + BEAT,
    "deskbridge:lock:ticket:7",
    "deskbridge:sweep",
)
PAUSE = ("reason", "until", "length")
EVERY = 60
"""Tries from one valid event to the next."""


class InRedis:
    """One installation whose Redis is also written by others.

    Args:
        bridge: the installation.
        directory: folder for the worker's log.
    """

    def __init__(self, bridge: Bridge, directory: Path) -> None:
        self._bridge, self._tries = bridge, 0
        self._tracker = StandIn(arguments=["--max-hours-per-day", "0"])
        self._tracker.start()
        bridge.configure(base_url=self._tracker.base_url)
        url = bridge.settings.redis_url.get_secret_value().rpartition("/")[0] + "/9"
        self._queue = Redis.from_url(url)
        (directory / "fleet").mkdir()
        self._fleet = Fleet(directory, f"sqlite:///{directory}/fleet/fleet.sqlite3", url, self._tracker)
        self._fleet.start(workers=1, threads=2)
        self._key = queue_key(self._fleet.bridge.redis.whose())

    def close(self) -> None:
        """Stop the worker and the tracker."""
        self._fleet.stop()
        self._queue.close()
        self._tracker.stop()

    def attempt(self, chance: Chance) -> None:
        """Write to Redis, and have deskbridge read it."""
        self._bridge.redis.flushdb()
        for _ in range(chance.randint(1, 3)):
            self._write(chance, key_of(self._bridge.redis, chance.choice(KEYS)))
        chance.choice((self._read, self._forward, self._examine))()
        for _ in range(5):
            self._queue.lpush(self._key, self._message(chance))
        assert all(worker.alive for worker in self._fleet.workers), self._fleet.logs()[-3000:]
        self._tries += 1
        if self._tries % EVERY == 0:
            self._honest()

    def _write(self, chance: Chance, key: str) -> None:
        redis = self._bridge.redis
        value = chance.choice((chance.choice(BYTES), chance.text(chance.value()), chance.randbytes(40)))
        kinds: tuple[Callable[[], object], ...] = (
            lambda: redis.set(key, value),
            lambda: redis.set(key, value, ex=chance.choice((1, 10**9))),
            lambda: redis.set(key, chance.choice(("nan", "inf", "-1", "9" * 400, "1e308", "0x1p3"))),
            lambda: redis.set(key, json.dumps({name: chance.choice((1, *HURTFUL)) for name in PAUSE})),
            lambda: redis.lpush(key, value),
            lambda: redis.hset(key, "reason", value),
            lambda: redis.sadd(key, value),
            lambda: redis.zadd(key, {value: 1.0}),
        )  # fmt: skip
        with suppress(RedisError):  # the key has another type
            chance.choice(kinds)()

    def _read(self) -> None:
        redis, heartbeats = self._bridge.redis, Heartbeats(self._bridge.redis)
        self._bridge.breaker.current()
        heartbeats.seconds_since(WORKER)
        heartbeats.seconds_since(BEAT)
        with suppress(RedisError):  # the key has another type
            heartbeats.mark(WORKER, HERE)
        assert all(one.limit.size >= 1 for one in published(redis))
        assert 0 <= RateLimiter(redis, 1000).next_turn() <= 3600
        with suppress(LockBusy), Locks(redis, 5).hold("ticket:7"):
            pass

    def _forward(self) -> None:
        number = 1 + self._tries % 500
        self._bridge.receive(task_event(of_ticket=ticket(number), of_task=task(self._tries + 1)))
        with suppress(RedisError):  # left to the sweep, as in the task
            self._bridge.sync(number)

    def _examine(self) -> None:
        services = Services(self._bridge.settings, self._bridge.store)
        connect = services.connector.connect
        list(
            examine(
                Installation(
                    services.settings, services.store, services.redis, services.vault, connect, lambda: True
                )
            )
        )
        services.redis.close()

    def _message(self, chance: Chance) -> bytes:
        name = chance.choice((*TASKS, "celery.backend_cleanup", "x"))
        named = arguments(1)
        named[chance.choice(list(named))] = chance.choice((1, *HURTFUL))
        said = [[], chance.bend(named), {}]
        inner = base64.b64encode(chance.text(chance.bend(said))).decode()
        nothing = dict.fromkeys(("shadow", "eta", "expires", "group", "parent_id"))
        about = {
            "lang": "py",
            "task": name,
            "id": "fuzz",
            "root_id": "fuzz",
            "argsrepr": "",
            "kwargsrepr": "",
        }
        message = {
            "body": inner,
            "content-encoding": "utf-8",
            "content-type": f"application/{chance.choice(('json', 'json', 'x-python-serialize'))}",
            "headers": chance.bend({**nothing, **about, "retries": 0, "timelimit": [None, None]}, 0.05),
            "properties": {
                "correlation_id": "fuzz",
                "delivery_mode": 2,
                "delivery_info": {"exchange": "", "routing_key": "deskbridge"},
                "priority": 0,
                "body_encoding": "base64",
                "delivery_tag": str(chance.random()),
            },
        }
        return chance.text(message)

    def _honest(self) -> None:
        """Check that a valid event is still forwarded once the queue is empty."""
        self._queue.flushdb()
        number = 10_000 + self._tries
        self._fleet.send([(f"honest-{number}", task_event(of_ticket=ticket(number), of_task=task(number)))])
        self._fleet.wait_until_synced(120)
