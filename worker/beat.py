"""Beat: Celery's, which ends when it is told to."""

from __future__ import annotations

import signal

import celery.apps.beat
from celery.beat import Service

from shared.coordination.doorbell import make_celery
from shared.coordination.locks import make_redis
from shared.coordination.presence import BEAT, Presence, is_there
from shared.errors import BridgeError
from shared.process.settings import Settings
from shared.telemetry import metrics
from shared.telemetry.logs import get_logger, reason_fields
from worker.monitor import monitored
from worker.schedule import schedule


def beat(settings: Settings) -> int:
    """Run beat without a file of its own: every entry is an interval, and a restart only begins them anew.

    Args:
        settings: the process's settings.

    Returns:
        The process's exit code.
    """
    app = make_celery(settings)
    app.conf.beat_schedule = schedule(settings)
    redis = make_redis(settings)
    Presence(redis).keep_marking(BEAT)
    try:
        monitored(settings, metrics.registry("beat"), {"redis": lambda: is_there(redis)})
    except BridgeError as error:
        get_logger("beat").error("does not start", **reason_fields(error.coded))
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
