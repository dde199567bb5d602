"""Deletes, beside the sweep, what dry runs have left on the tracker."""

from __future__ import annotations

from shared.dryrun.cleanup import clean_up
from shared.telemetry.logs import get_logger
from worker.app import Worker

log = get_logger("dryrun")


def clean_dry_runs(worker: Worker) -> int:
    """Delete some of what is left, but never while the tracker is left in peace; return how many are gone.

    No failure gets out of it: the sweep has more important things to do.
    """
    try:
        if worker.breaker.current():
            return 0
        return clean_up(worker.store, worker.connector.connect, settling=worker.settings.settling_time)
    except Exception as failure:  # noqa: BLE001 (each row is tried again when its time has come)
        log.error("dry runs could not be cleaned up", error=type(failure).__name__)
        return 0
