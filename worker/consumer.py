"""Celery's consumer, with patience: a broker that refuses is asked again after a second, not five times in each."""

from __future__ import annotations

import time
import warnings

from celery.exceptions import CPendingDeprecationWarning
from celery.worker.consumer import Consumer
from celery.worker.state import maybe_shutdown
from kombu.connection import Connection

from shared.errors import first_line
from shared.telemetry.logs import get_logger

log = get_logger("worker")
AGAIN_S = 1.0
"""After so long a broker that is there and refuses is asked again."""

LONGEST_WAIT_S = 5.0
"""Between two attempts to connect; Celery itself waits for half a minute, even if the broker is back by then."""


class PatientConsumer(Consumer):  # type: ignore[misc]
    """Takes messages from a broker that comes, goes, and refuses."""

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        """Wait before the next attempt if the broker has refused: to connect to it does not fail."""
        with warnings.catch_warnings():  # of another default in a later version: ours is set
            warnings.simplefilter("ignore", CPendingDeprecationWarning)
            super().on_connection_error_after_connected(exc)
        if isinstance(exc, self.channel_errors):
            log.warning("the broker refuses; it is asked again", error=first_line(exc), seconds=AGAIN_S)
            time.sleep(AGAIN_S)

    def ensure_connected(self, conn: Connection) -> Connection:
        """Connect, however long it takes."""

        def failed(exc: Exception, seconds: float) -> None:
            log.error("the broker cannot be connected to", error=first_line(exc), seconds=seconds)

        connected: Connection = conn.ensure_connection(  # type: ignore[no-untyped-call]
            failed,
            None,
            interval_start=1,
            interval_step=1,
            interval_max=LONGEST_WAIT_S,
            callback=maybe_shutdown,
        )
        self.first_connection_attempt = False
        return connected
