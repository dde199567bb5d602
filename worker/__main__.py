"""`python -m worker worker|beat`: what the command line replaces itself with."""

from __future__ import annotations

import argparse
import signal
import sys

import celery.apps.beat
from celery.beat import Service
from celery.signals import setup_logging

from shared import metrics, reporting
from shared.coordination.doorbell import make_celery
from shared.coordination.locks import make_redis
from shared.coordination.presence import BEAT, Presence, is_there
from shared.dumps import guard_memory
from shared.errors import BridgeError
from shared.loading import loading
from shared.logs import configure_logging, get_logger, log_crashes
from shared.settings import Settings, load_settings
from worker.monitor import monitored
from worker.schedule import schedule


def main() -> int:
    """Run one worker or one beat until it is told to stop."""
    arguments = _arguments()
    guard_memory()
    try:
        settings = load_settings()
    except BridgeError as error:
        sys.stderr.write(f"deskbridge: {error}\n")  # how to log is part of what could not be read
        return 2
    configure_logging(settings.log_format, process=arguments.process)
    log_crashes()
    try:
        reporting.start(settings, arguments.process)
    except BridgeError as error:
        get_logger(arguments.process).error(str(error))
        return 2
    setup_logging.connect(_is_set_up, weak=False)
    if arguments.process == "beat":
        return _beat(settings)
    with loading():
        from worker.process import work  # here: beat needs nothing of it

    return work(settings, arguments.concurrency)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m worker")
    parser.add_argument("process", choices=("worker", "beat"))
    parser.add_argument(
        "--concurrency",
        type=int,
        default=32,
        help="calls to the tracker at the same time, at most (default 32)",
    )
    return parser.parse_args()


def _is_set_up(**_: object) -> None:
    """Logging is set up: Celery leaves it as it is where this signal has a listener."""


def _beat(settings: Settings) -> int:
    """Run beat without a file of its own: every entry is an interval, and a restart only begins them anew."""
    app = make_celery(settings)
    app.conf.beat_schedule = schedule(settings)
    redis = make_redis(settings)
    Presence(redis).keep_marking(BEAT)
    try:
        monitored(settings, metrics.registry("beat"), {"redis": lambda: is_there(redis)})
    except BridgeError as error:
        get_logger("beat").error(str(error))
        return 2
    get_logger("beat").info("started")
    Beat(app=app, scheduler="celery.beat:Scheduler", loglevel="WARNING", max_interval=5, quiet=True).run()
    return 0


class Beat(celery.apps.beat.Beat):  # type: ignore[misc]
    """Celery's beat, which ends when it is told to, also while it waits for the broker.

    Celery's own handler closes the connection under whoever reads from it; what that raises, beat takes for a message
    that could not be sent, and goes on.
    """

    def install_sync_handler(self, service: Service) -> None:
        """Have SIGTERM and SIGINT end the loop in any case, and at once where nothing stands between."""

        def end(*_: object) -> None:
            service.stop()
            raise SystemExit

        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)


if __name__ == "__main__":
    sys.exit(main())
