"""Deletes objects that dry runs have left on the tracker."""

from __future__ import annotations

from shared.dryrun.cleanup import clean_up
from shared.telemetry.logs import get_logger
from worker.app import Worker

log = get_logger("dryrun")


def clean_dry_runs(worker: Worker) -> int:
    """Delete some of the leftover objects, but only if the circuit breaker is closed; return how many are gone.

    It raises no error, since the rest of the maintenance is more important.
    """
    try:
        if worker.breaker.current():
            return 0
        return clean_up(worker.store, worker.connector.connect, settling=worker.settings.settling_time)
    except Exception as failure:  # noqa: BLE001 (each row is tried again when its time has come)
        log.error("dry runs could not be cleaned up", error=type(failure).__name__)
        return 0
