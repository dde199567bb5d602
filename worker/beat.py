"""Beat: Celery's beat, with changes so that it serves every installation and ends when it is told to."""

from __future__ import annotations

import signal
from contextlib import suppress
from functools import partial
from typing import Any

import celery.apps.beat
from celery.beat import Scheduler, Service
from redis import Redis
from redis.exceptions import RedisError

from shared.diagnosis import redis_health
from shared.errors import BridgeError
from shared.process.settings import Settings
from shared.queue.celery_app import make_celery, queue_of
from shared.queue.names import MAINTENANCE, SWEEP
from shared.redis.heartbeat import BEAT, Heartbeats
from shared.redis.locks import connected
from shared.telemetry import metrics
from shared.telemetry.logs import get_logger, reason_fields
from worker.health import Health
from worker.monitor import monitored

AT_WORK_S = 60.0
"""A worker sends a heartbeat every ten seconds; messages to an installation without one would only pile up."""


def beat(settings: Settings) -> int:
    """Run beat without a schedule file: every entry is an interval, and a restart only starts the intervals again.

    Args:
        settings: the process's settings.

    Returns:
        The process's exit code.
    """
    app = make_celery(settings)
    app.conf.beat_schedule = schedule(settings)
    redis = connected(
        Redis, settings.redis_url.get_secret_value(), socket_keepalive=True, health_check_interval=15
    )
    heartbeats = Heartbeats(redis)
    heartbeats.keep_marking(BEAT)
    try:
        monitored(settings, metrics.registry("beat"), {"redis": lambda: redis_health.takes_writes(redis)})
    except BridgeError as error:
        get_logger("beat").error("does not start", **reason_fields(error.notice))
        return 2
    Health(settings.heartbeat_path).start()
    get_logger("beat").info("started")
    each = partial(EachInstallation, settings, heartbeats)
    Beat(app=app, scheduler=each, loglevel="WARNING", max_interval=5, quiet=True).run()
    return 0


def schedule(settings: Settings) -> dict[str, dict[str, Any]]:
    """Return the tasks that beat sends, and when; a message expires if no worker takes it before the next one.

    A worker checks itself whether work is due, so a second beat is harmless.
    """
    seconds = settings.sweep_interval
    return {
        name: {"task": name, "schedule": seconds, "options": {"expires": seconds}}
        for name in (SWEEP, MAINTENANCE)
    }


class EachInstallation(Scheduler):  # type: ignore[misc]
    """Celery's scheduler, which sends due tasks to every installation that is active on this Redis.

    A beat has no database, so it belongs to no installation; heartbeats in Redis show which installations have active
    workers. Several beats are harmless: the workers sweep once per interval.

    Args:
        settings: the process's settings.
        heartbeats: returns the active installations.
        options: the options of Celery's scheduler.
    """

    def __init__(self, settings: Settings, heartbeats: Heartbeats, **options: Any) -> None:
        self._settings, self._heartbeats = settings, heartbeats
        self._known: list[str] = []
        super().__init__(**options)

    def send_task(self, *arguments: Any, **options: Any) -> None:
        """Send a task to each installation; if Redis fails, to the last known ones, since the broker may still work."""
        with suppress(RedisError):
            self._known = self._heartbeats.installations(AT_WORK_S)
        for one in self._known:
            queue = queue_of(self._settings, one, has_priority=True)  # a backlog does not delay it
            super().send_task(*arguments, **{**options, "queue": queue})


class Beat(celery.apps.beat.Beat):  # type: ignore[misc]
    """Celery's beat, which ends when it is told to, even while it waits for the broker.

    Celery's own handler closes the connection while another thread reads from it. Beat treats the error as a message
    that could not be sent, and continues.
    """

    def install_sync_handler(self, service: Service) -> None:
        """Make SIGTERM and SIGINT end the loop: at once, or at its next check if the exit is caught on the way."""

        def end(*_: object) -> None:
            service.stop()
            raise SystemExit

        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, end)
