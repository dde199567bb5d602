"""One worker process: Celery's worker, and threads for tickets, the sweep, maintenance and the health check."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import partial
from typing import Any

import celery.apps.worker
from celery import Celery
from celery.signals import worker_shutting_down
from redis.exceptions import RedisError

from shared.diagnosis import redis_health
from shared.errors import BridgeError, SettingsError
from shared.monitoring.clocks import OwnClock
from shared.monitoring.state_metrics import StateMetricsCollector
from shared.notices.system_refusals import SystemRefusal
from shared.notifications.notifier import CHECKED_EVERY_S
from shared.process.itself import Process
from shared.process.settings import Settings
from shared.queue.celery_app import drop_strange_keys
from shared.queue.names import MAINTENANCE, SWEEP
from shared.redis.call_limits import KEPT_S, publish
from shared.redis.heartbeat import WORKER
from shared.redis.installation import InstallationUnknown, Whose
from shared.redis.latency import note_calls
from shared.redis.rate_limit import discard_slots
from shared.store.tables.database import Database
from shared.store.tables.schema import is_current
from shared.telemetry import metrics, tracing
from shared.telemetry.logs import get_logger, reason_fields
from worker.app import Worker, bootstrap
from worker.celery_tasks import register
from worker.dry_runs import clean_dry_runs
from worker.health import Health
from worker.maintenance import compare_with_helpdesk, do_maintenance
from worker.monitor import Looks, monitored
from worker.notifications import notify_people
from worker.periodic import PeriodicJob

WITHOUT_BEAT = 3
"""After this many of beat's intervals a worker runs a job by itself, in case there is no beat."""

DATABASE_LOOKED_FOR_EVERY_S = 2.0
CALLS_REPORTED_EVERY_S = 5.0
COMPARISON_CHECKED_EVERY_S = 60.0
NEEDED = ("database", "redis", "running")
TASKS = 3
"""Celery's threads: a task only passes its tickets on."""
OPTIONS = {
    "quiet": True,
    "loglevel": "WARNING",
    "pool_cls": "threads",
    "without_gossip": True,
    "without_mingle": True,
}
log = get_logger("worker")


def work(settings: Settings, concurrency: int) -> int:
    """Run a worker until it is told to stop; return the process's exit code."""
    if not settings.secret_keys:
        log.error("does not start", **reason_fields(SystemRefusal.SECRET_KEYS_NOT_SET()))
        return 2
    registry, seen = metrics.registry("worker"), dict.fromkeys(NEEDED, _not_yet)
    try:
        tracing.start(settings, "worker")
        monitored(settings, registry, seen)
    except SettingsError as error:
        log.error("does not start", **reason_fields(error.notice))
        return 2
    health = Health(settings.heartbeat_path)
    health.start()  # a worker that waits for its database is healthy
    try:
        installation = _installation(settings)
    except BridgeError as error:
        log.error("does not start", **reason_fields(error.notice))
        return 1
    with suppress(RedisError):  # Celery waits for it
        drop_strange_keys(settings, installation)
    worker = bootstrap(settings, installation, concurrency=concurrency)
    with suppress(RedisError):
        discard_slots(worker.redis)
    with suppress(RedisError):
        report_calls(worker)
    jobs = _jobs(worker)
    register(worker.app, worker, jobs)
    worker.scheduler.start()
    PeriodicJob("calls", partial(report_calls, worker), CALLS_REPORTED_EVERY_S, worker.stopping).start()
    PeriodicJob("notifications", partial(notify_people, worker), CHECKED_EVERY_S, worker.stopping).start()
    compare = partial(compare_with_helpdesk, worker)
    PeriodicJob("comparison", compare, COMPARISON_CHECKED_EVERY_S, worker.stopping).start()
    health.look = worker.progress.look
    # what Celery prints when it is told to stop
    celery.apps.worker.safe_say = lambda text, *_: log.info(str(text).strip())
    registry.register(
        StateMetricsCollector(worker.redis, worker.store, worker.waiting, settings.quiet_hours * 3600)
    )
    seen.update(_needed(worker))
    worker.heartbeats.keep_marking(WORKER, OwnClock(worker.store.database).ahead_s)
    log.info("started", concurrency=concurrency)
    for job in jobs.values():
        job.start()
    return _work_until_it_ends(worker)


def _jobs(worker: Worker) -> dict[str, PeriodicJob]:
    """Return the jobs that beat triggers; the sweep is separate, because maintenance may take minutes."""

    def maintain() -> None:
        clean_dry_runs(worker)
        do_maintenance(worker)

    interval = worker.settings.sweep_interval * WITHOUT_BEAT
    return {
        SWEEP: PeriodicJob("sweep", worker.sweep.run, interval, worker.stopping),
        MAINTENANCE: PeriodicJob("maintenance", maintain, interval, worker.stopping),
    }


def report_calls(worker: Worker) -> None:
    """Publish this worker's limit of concurrent calls and their latencies, and count the workers that share it.

    Raises:
        RedisError: if Redis does not answer.
    """
    mine = Process.here()
    note_calls(worker.redis, worker.meter.read())
    publish(worker.redis, mine, worker.limit.current)
    alive = [one.process for one in worker.heartbeats.seen(WORKER) if one.seconds <= KEPT_S]
    worker.limit.share_with(1 + sum((one.host, one.pid) != (mine.host, mine.pid) for one in alive))


def _work_until_it_ends(worker: Worker) -> int:
    """Run Celery until it ends; send queue messages for the tickets that are left, however it ended."""

    def stop(**_: object) -> None:
        worker.stopping.set()
        worker.scheduler.stop()

    worker_shutting_down.connect(stop)
    code = 1
    try:
        code = run_celery(worker.app, concurrency=TASKS, **OPTIONS)
    finally:
        stop()
        if left := worker.scheduler.close():
            worker.publisher.notify(left)
        tracing.stop()
        if worker.scheduler.running:
            log.warning("tickets are left as they are", tickets=sorted(worker.scheduler.running))
            os._exit(code)  # Python would wait for their threads
    return code


def _installation(settings: Settings) -> str:
    """Return the id of the installation that this worker belongs to; wait until its database answers.

    Raises:
        SettingsError: if `deskbridge migrate` is due, or the database belongs to a newer version.
    """
    database, is_said = Database(settings.database_url.get_secret_value()), False
    try:
        while True:
            try:
                if is_current(settings):
                    return Whose(database)()
            except InstallationUnknown as error:
                log.warning("the installation's id cannot be read", error=str(error))
            if not is_said:
                log.warning("the database cannot be reached at the moment; the worker waits for it")
                is_said = True
            time.sleep(DATABASE_LOOKED_FOR_EVERY_S)
    finally:
        database.close()


def _not_yet() -> bool:
    return False


def _needed(worker: Worker) -> Looks:
    """Return the checks of everything that a worker requires."""
    return {
        "database": worker.store.database.takes_writes,
        "redis": lambda: redis_health.takes_writes(worker.redis),
        "running": lambda: not worker.stopping.is_set(),
    }


def run_celery(app: Celery, **options: Any) -> int:
    """Run Celery's worker until it ends; return the exit code, which is 0 only if a signal stopped it.

    An unstable broker can end it with or without an error, and Celery's exit code does not show that. With 0, a
    supervisor that restarts on failure would leave the worker dead. Celery's own command line is not used: it loads a
    shell, a monitor and the libraries that display them.

    Args:
        app: the application.
        options: the options of `celery worker`.
    """
    signalled: list[str] = []

    def was_asked(sig: str, **_: object) -> None:
        signalled.append(sig)

    worker_shutting_down.connect(was_asked)
    try:
        worker = app.Worker(**options)
        worker.start()
    finally:
        worker_shutting_down.disconnect(was_asked)
    return int(worker.exitcode or 0) if signalled else 1
