"""`python -m worker worker|beat`: what the command line replaces itself with."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from typing import Any

from celery import Celery
from celery.signals import celeryd_init, worker_shutting_down

from shared.coordination.doorbell import make_celery
from shared.coordination.presence import WORKER
from shared.dumps import guard_memory
from shared.errors import BridgeError
from shared.logs import configure_logging
from shared.settings import Settings, load_settings
from worker.bootstrap import Worker, backlog, bootstrap
from worker.schedule import schedule
from worker.tasks import left_to_the_sweep, register
from worker.upkeep import keep_up
from worker.watchdog import EXIT_CODE

SWEEP_WITHOUT_BEAT = 3


def main() -> int:
    """Run one worker or one beat until it is told to stop."""
    arguments = _arguments()
    guard_memory()
    try:
        settings = load_settings()
    except BridgeError as error:
        print(f"deskbridge: {error}", file=sys.stderr)
        return 2
    if arguments.process == "worker" and not settings.secret_keys:
        print(
            "deskbridge: DESKBRIDGE_SECRET_KEYS is not set: a worker cannot open the API key", file=sys.stderr
        )
        return 2
    configure_logging(settings.log_format, process=arguments.process)
    if arguments.process == "beat":
        return _beat(settings)
    return _work(settings, arguments.concurrency)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m worker")
    parser.add_argument("process", choices=("worker", "beat"))
    parser.add_argument("--concurrency", type=int, default=8, help="threads (default 8)")
    return parser.parse_args()


def _work(settings: Settings, concurrency: int) -> int:
    worker = bootstrap(settings, concurrency=concurrency)
    register(worker.app, worker)
    stop = threading.Event()
    threading.Thread(target=_sweep_without_beat, args=(worker, stop), daemon=True, name="sweep").start()
    threading.Thread(target=_keep_up_without_beat, args=(worker, stop), daemon=True, name="upkeep").start()
    options = ["--pool", "threads", "--concurrency", str(concurrency), "--without-gossip", "--without-mingle"]
    code = _run_celery(worker.app, ["worker", "--loglevel", "WARNING", *options])
    stop.set()
    return code


def _run_celery(app: Celery, arguments: list[str]) -> int:
    """Run Celery's worker until it ends; return how it ended: 0 only where a signal asked it to.

    A broker that comes and goes can end it with or without an error of its own, and `worker_main` does not tell: with
    0, a supervisor that restarts on failure would leave the worker dead.
    """
    started: list[Any] = []
    signalled: list[str] = []

    def remember(instance: Any, **_: object) -> None:
        started.append(instance)

    def was_asked(sig: str, **_: object) -> None:
        signalled.append(sig)

    celeryd_init.connect(remember)
    worker_shutting_down.connect(was_asked)
    try:
        app.worker_main(arguments)
    finally:
        celeryd_init.disconnect(remember)
        worker_shutting_down.disconnect(was_asked)
    return int(started[-1].exitcode or 0) if started and signalled else 1


def _sweep_without_beat(worker: Worker, stop: threading.Event) -> None:
    """Sweep now and then from every worker, in case that no beat does; the sweep's own lock makes it harmless.

    Each round leaves a sign of life for `deskbridge doctor`, and looks whether this process is still handed anything.
    """
    due = False
    while not stop.is_set():
        try:
            worker.presence.mark(WORKER)
            if due:
                worker.sweep.run()
                _end_where_starved(worker)
        except Exception as error:  # noqa: BLE001  (the next round tries again; nothing may end this thread)
            worker.watchdog.look_away()
            print(f"deskbridge: sweep failed: {type(error).__name__}", file=sys.stderr)
        due = not stop.wait(worker.settings.sweep_interval * SWEEP_WITHOUT_BEAT)


def _keep_up_without_beat(worker: Worker, stop: threading.Event) -> None:
    """Do what is due by its age from the start, in a thread of its own: reading the metadata may take minutes."""
    while not stop.is_set():
        with left_to_the_sweep():
            keep_up(worker)
        stop.wait(worker.settings.sweep_interval * SWEEP_WITHOUT_BEAT)


def _end_where_starved(worker: Worker) -> None:
    """End the process where rings wait and it is handed none; nothing of it is at work, so nothing is cut off."""
    if worker.watchdog.look(backlog(worker.app)):
        print(
            "deskbridge: rings wait and this worker is handed none; it ends to be started anew",
            file=sys.stderr,
        )
        sys.stderr.flush()
        os._exit(EXIT_CODE)


def _beat(settings: Settings) -> int:
    """Run beat without a file of its own: every entry is an interval, and a restart only begins them anew."""
    app = make_celery(settings)
    app.conf.beat_schedule = schedule(settings)
    app.Beat(scheduler="celery.beat:Scheduler", loglevel="WARNING", max_interval=5).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
