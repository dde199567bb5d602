"""Metrics that no single process can count, looked up when a monitor asks for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from shared.diagnosis import redis_health
from shared.metadata.confirming import unusable_defaults
from shared.queue.celery_app import BROKER_ERRORS
from shared.redis.call_limits import published
from shared.redis.circuit_breaker import CircuitBreaker
from shared.redis.examination import kept
from shared.redis.heartbeat import ALIVE_S, BEAT, CONSOLE, WORKER, Heartbeats
from shared.redis.latency import seconds_per_call
from shared.redis.rate_limit import rate_limit_in_use
from shared.store.transaction import Store
from shared.telemetry import metrics

FRESH_S = 5.0
"""Seconds for which a result is reused, however many monitors ask."""
PATIENCE_S = 2.0
"""Most seconds that a request waits while another one looks up the metrics."""


class StateMetricsCollector(Collector):
    """Reads metrics of database, Redis and broker; omits those of an unreachable service (`deskbridge_reachable`).

    Args:
        redis: connection with its own time-outs.
        store: None if this process does not use the database.
        backlog: returns the number of messages in the queue.
        quiet_s: time without events after which an alert fires; None exposes no such limit.
    """

    def __init__(
        self,
        redis: Redis,
        store: Store | None = None,
        backlog: Callable[[], int] | None = None,
        quiet_s: float | None = None,
    ) -> None:
        self._quiet_s = quiet_s
        self._redis, self._store, self._backlog = redis, store, backlog
        self._looking = threading.Lock()
        self._seen: list[GaugeMetricFamily] = []
        self._seen_at = float("-inf")

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Name the possible metrics, so that registration looks up nothing."""
        return [one.family() for one in metrics.LOOKED_UP]

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return metrics at most FRESH_S old; none if another thread's lookup takes too long."""
        if not self._looking.acquire(timeout=PATIENCE_S):
            return []
        try:
            if time.monotonic() - self._seen_at > FRESH_S:
                self._seen = list(self._look())
                self._seen_at = time.monotonic()
            return self._seen
        finally:
            self._looking.release()

    def _look(self) -> Iterator[GaugeMetricFamily]:
        reachable, seen = metrics.REACHABLE.family(), metrics.LAST_SEEN.family()
        paused = False
        try:
            redis_health.write(self._redis)
            why, paused = self._in_redis(seen)
            yield why
            found = rate_limit_in_use(self._redis)
            yield _gauge(metrics.RATE_WAIT, found.wait_s if found else 0.0)
            if (seconds := seconds_per_call(self._redis)) is not None:
                yield _gauge(metrics.SECONDS_PER_CALL, seconds)
            yield from self._call_limit()
            if (parts := kept(self._redis)) is not None:
                yield _gauge(metrics.PARTS_FAILING, sum(one.get("status") == "failure" for one in parts))
            yield from self._clocks()
            yield _gauge(metrics.INSTALLATIONS, len(Heartbeats(self._redis).installations()))
            reachable.add_metric(["redis"], 1)
        except RedisError:
            reachable.add_metric(["redis"], 0)
        if self._backlog is not None:
            try:
                yield _gauge(metrics.QUEUE_LENGTH, self._backlog())
                reachable.add_metric(["broker"], 1)
            except BROKER_ERRORS:
                reachable.add_metric(["broker"], 0)
        if self._store is not None:
            try:
                yield from self._in_the_database(self._store, seen, paused=paused)
                reachable.add_metric(["database"], int(self._store.database.takes_writes()))
            except SQLAlchemyError:
                reachable.add_metric(["database"], 0)
        if self._quiet_s is not None:
            yield _gauge(metrics.QUIET, self._quiet_s)
        yield seen
        yield reachable

    def _in_redis(self, seen: GaugeMetricFamily) -> tuple[GaugeMetricFamily, bool]:
        """Return the gauge of the circuit breaker and whether it is open; add the heartbeats' ages to `seen`."""
        paused = CircuitBreaker(self._redis).current()
        why = metrics.PAUSED.family()
        why.add_metric([str(paused.reason.code) if paused else ""], 1 if paused else 0)
        heartbeats = Heartbeats(self._redis)
        for process in (WORKER, BEAT, CONSOLE):
            age = heartbeats.seconds_since(process)
            if age is not None:
                seen.add_metric([process], age)
        return why, paused is not None

    def _clocks(self) -> Iterator[GaugeMetricFamily]:
        off = [
            abs(one.ahead_s)
            for one in Heartbeats(self._redis).seen(WORKER)
            if one.ahead_s is not None and one.seconds <= ALIVE_S
        ]
        if off:
            yield _gauge(metrics.CLOCK_OFF, max(off))

    def _call_limit(self) -> Iterator[GaugeMetricFamily]:
        limits, ratios = metrics.CALL_LIMIT.family(), metrics.CALL_RATIO.family()
        for one in published(self._redis):
            worker = f"{one.process.host}:{one.process.pid}"
            limits.add_metric([worker, str(one.limit.why)], one.limit.size)
            ratios.add_metric([worker], one.limit.ratio)
        yield limits
        yield ratios

    @staticmethod
    def _in_the_database(store: Store, seen: GaugeMetricFamily, *, paused: bool) -> list[GaugeMetricFamily]:
        with store.transaction() as tx:
            now, waiting = tx.now(), tx.journal.waiting()
            good, producers, mode = tx.metadata.last_good_run(), tx.producers.seen(), tx.recovery.get()
            alive = [one for one in producers if one.seconds <= ALIVE_S]
            for latest in producers[:1]:
                seen.add_metric(["producer"], latest.seconds)
            failed = metrics.FAILED.family()
            for code, count in tx.journal.failed_by_code().items():
                failed.add_metric([code], count)

            def age(moment: datetime | None) -> float:
                return max(0.0, (now - moment).total_seconds()) if moment else 0.0

            newest = tx.journal.newest_received()
            return [
                *([_gauge(metrics.LAST_EVENT, age(newest))] if newest else []),
                _gauge(metrics.PENDING, waiting.count),
                _gauge(metrics.OLDEST_PENDING, age(waiting.oldest)),
                _gauge(metrics.OLDEST_DUE, 0.0 if paused else age(waiting.oldest_due)),
                failed,
                _gauge(metrics.UNREADABLE_DELIVERIES, tx.journal.count_unreadable()),
                _gauge(metrics.ON_HOLD, tx.count_undecided()),
                _gauge(metrics.DELIVERIES_REFUSED, sum(one.refused_in_a_row for one in alive)),
                _gauge(metrics.STATUSES_NOT_TAKEN, tx.statuses.not_given(0)[0]),
                _gauge(metrics.DEFAULTS_NOT_USABLE, len(unusable_defaults(tx, tx.configs.get()[0]))),
                _gauge(metrics.WRONG_AUTHORS, tx.misattributed.count()),
                _gauge(metrics.RECOVERY_LEFT_ON, age(mode.needed_until if mode else None)),
                _gauge(metrics.SYNCHRONISED, good.ended_at.timestamp() if good else 0.0),
            ]


def _gauge(gauge: metrics.ScrapedGauge, value: float) -> GaugeMetricFamily:
    family = gauge.family()
    family.add_metric([], value)
    return family
