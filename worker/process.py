"""One worker: Celery's, with a sweep beside it that also looks whether the worker is still handed anything."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from typing import Any

import celery.apps.worker
from celery import Celery
from celery.signals import worker_shutting_down
from redis.exceptions import RedisError

from shared.codes.refusals import Refusal
from shared.errors import BridgeError, SettingsError
from shared.monitoring.clocks import OwnClock
from shared.monitoring.standing import StandingCollector
from shared.process.itself import Process
from shared.process.settings import Settings
from shared.queue.publisher import drop_strange_keys
from shared.redis.call_limits import KEPT_S, publish
from shared.redis.heartbeat import WORKER, is_there
from shared.redis.installation import InstallationUnknown, Whose
from shared.redis.latency import note_calls
from shared.redis.priority import PriorityTickets
from shared.redis.rate_limit import forget_turns
from shared.store.tables.database import Database
from shared.store.tables.schema import is_current
from shared.telemetry import metrics, tracing
from shared.telemetry.logs import get_logger, reason_fields
from worker.app import Worker, backlog, bootstrap
from worker.celery_tasks import left_to_the_sweep, register
from worker.consumer import PatientConsumer
from worker.health import Looks, monitored
from worker.maintenance import do_maintenance
from worker.watchdog import EXIT_CODE

SWEEP_WITHOUT_BEAT = 3
STUCK_LOOKED_FOR_EVERY_S = 5.0
AHEAD_LOOKED_FOR_EVERY_S = 0.5
DATABASE_LOOKED_FOR_EVERY_S = 2.0
CALLS_REPORTED_EVERY_S = 5.0
NEEDED = ("database", "redis", "running")
TASKS = 3
"""Celery's threads: a task hands its tickets over, and a sweep may take its time."""
OPTIONS = {
    "quiet": True,
    "loglevel": "WARNING",
    "pool_cls": "threads",
    "consumer_cls": PatientConsumer,
    "without_gossip": True,
    "without_mingle": True,
}
log = get_logger("worker")


def work(settings: Settings, concurrency: int) -> int:
    """Run a worker until it is told to stop; return the process's exit code."""
    if not settings.secret_keys:
        log.error("does not start", **reason_fields(Refusal.SECRET_KEYS_NOT_SET()))
        return 2
    registry, seen, working = metrics.registry("worker"), dict.fromkeys(NEEDED, _not_yet), list[Worker]()
    try:
        tracing.start(settings, "worker")
        # one that waits for its database lives
        monitored(settings, registry, seen, lambda: all(one.scheduler.stuck_since is None for one in working))
    except SettingsError as error:
        log.error("does not start", **reason_fields(error.notice))
        return 2
    try:
        installation = _installation(settings)
    except BridgeError as error:
        log.error("does not start", **reason_fields(error.notice))
        return 1
    with suppress(RedisError):  # Celery waits for it
        drop_strange_keys(settings, installation)
    worker = bootstrap(settings, installation, concurrency=concurrency)
    with suppress(RedisError):
        forget_turns(worker.redis)
    register(worker.app, worker)
    with suppress(RedisError):
        report_calls(worker)
    worker.scheduler.start()
    threading.Thread(target=_keep_reporting_calls, args=(worker,), daemon=True, name="calls").start()
    threading.Thread(target=_end_where_stuck, args=(worker,), daemon=True, name="stuck").start()
    # what Celery prints when it is told to stop
    celery.apps.worker.safe_say = lambda text, *_: log.info(str(text).strip())
    registry.register(
        StandingCollector(
            worker.redis, worker.store, lambda: backlog(worker.app), settings.quiet_hours * 3600
        )
    )
    seen.update(_needed(worker))
    working.append(worker)
    threading.Thread(target=_take_ahead, args=(worker,), daemon=True, name="ahead").start()
    worker.heartbeats.keep_marking(WORKER, OwnClock(worker.store.database).ahead_s)
    log.info("started", concurrency=concurrency)
    threading.Thread(target=_sweep_without_beat, args=(worker,), daemon=True, name="sweep").start()
    threading.Thread(target=_maintain_without_beat, args=(worker,), daemon=True, name="maintenance").start()

    return _work_until_it_ends(worker)


def _take_ahead(worker: Worker) -> None:
    """Look for tickets that are to go ahead, as long as others wait; else each is done as soon as it is notified."""
    ahead = PriorityTickets(worker.redis)
    while not worker.stopping.wait(AHEAD_LOOKED_FOR_EVERY_S):
        if worker.ability.is_able and worker.scheduler.is_at_work:
            with suppress(RedisError):  # they are notified as well
                worker.scheduler.take_ahead(ahead.take())


def report_calls(worker: Worker) -> None:
    """Report how many calls this worker makes at once and what they take, and see how many workers do.

    Raises:
        RedisError: Redis does not answer.
    """
    mine = Process.here()
    note_calls(worker.redis, worker.meter.read())
    publish(worker.redis, mine, worker.limit.current)
    alive = [one.process for one in worker.heartbeats.seen(WORKER) if one.seconds <= KEPT_S]
    worker.limit.share_with(1 + sum((one.host, one.pid) != (mine.host, mine.pid) for one in alive))


def _keep_reporting_calls(worker: Worker) -> None:
    while not worker.stopping.wait(CALLS_REPORTED_EVERY_S):
        with suppress(RedisError):  # the next report comes soon
            report_calls(worker)


def _work_until_it_ends(worker: Worker) -> int:
    """Have Celery hand tickets over until it ends; however that is, what is left is notified."""

    def stop(**_: object) -> None:
        worker.stopping.set()
        worker.scheduler.stop()

    worker_shutting_down.connect(stop)
    try:
        return run_celery(worker.app, concurrency=TASKS, **OPTIONS)
    finally:
        stop()
        if left := worker.scheduler.close():
            worker.service.notify(left)
        tracing.stop()


def _installation(settings: Settings) -> str:
    """Return which installation this worker belongs to; its database is waited for: without it there is no work.

    Raises:
        SettingsError: `deskbridge migrate` is due, or the database belongs to a newer version.
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
    """Return what nothing can be done without."""
    return {
        "database": worker.store.database.takes_writes,
        "redis": lambda: is_there(worker.redis),
        "running": lambda: not worker.stopping.is_set(),
    }


def run_celery(app: Celery, **options: Any) -> int:
    """Run Celery's worker until it ends; return how it ended: 0 only where a signal asked it to.

    A broker that comes and goes can end it with or without an error of its own, and Celery's exit code does not tell:
    with 0, a supervisor that restarts on failure would leave the worker dead. Celery's own command line is left out:
    it loads a shell, a monitor and what they are drawn with.

    Args:
        app: the application.
        options: as `celery worker` takes them.
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


def _sweep_without_beat(worker: Worker) -> None:
    """Sweep now and then from every worker, in case that no beat does; the sweep's own lock makes it harmless.

    Each round looks whether this process is still handed anything.
    """
    due = False
    while not worker.stopping.is_set():
        try:
            if due:
                worker.sweep.run()
                _end_where_starved(worker)
        except Exception as error:  # noqa: BLE001  (the next round tries again; nothing may end this thread)
            worker.watchdog.look_away()
            log.error("the sweep failed; the next round tries again", error=type(error).__name__)
        due = not worker.stopping.wait(worker.settings.sweep_interval * SWEEP_WITHOUT_BEAT)


def _maintain_without_beat(worker: Worker) -> None:
    """Do what is due by its age from the start, in a thread of its own: reading the metadata may take minutes."""
    while not worker.stopping.is_set():
        with left_to_the_sweep():
            do_maintenance(worker)
        worker.stopping.wait(worker.settings.sweep_interval * SWEEP_WITHOUT_BEAT)


def _end_where_stuck(worker: Worker) -> None:
    """End the process where it waits, in two looks, for what does not come: its tickets would stay locked."""
    before = None
    while (since := worker.scheduler.stuck_since) is None or since != before:
        before = since
        time.sleep(STUCK_LOOKED_FOR_EVERY_S)
    log.critical("what is waited for does not come; the worker ends to be started anew", exit_code=EXIT_CODE)
    os._exit(EXIT_CODE)


def _end_where_starved(worker: Worker) -> None:
    """End the process where messages wait and it is handed none; nothing of it is at work, so nothing is cut off."""
    if worker.watchdog.look(backlog(worker.app)):
        log.error(
            "messages wait and this worker is handed none; it ends to be started anew", exit_code=EXIT_CODE
        )
        os._exit(EXIT_CODE)
