"""`deskbridge doctor`: is every part ready, and where not, what is to be done."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress

from producer.admin.doctor import services, setup, templates, tracker, work
from producer.admin.doctor.finding import RECORDS, Finding, Status
from producer.admin.doctor.patient import Patient
from shared.errors import BridgeError

__all__ = ["RECORDS", "Finding", "Patient", "Status", "examine"]


def examine(patient: Patient) -> Iterator[Finding]:
    """Look at every part, those first without which the others cannot be looked at.

    Args:
        patient: the installation.

    Yields:
        One finding or more for each check.
    """
    alive = yield from _all(services.database, patient)
    yield from services.redis(patient)
    yield from services.broker(patient)
    yield from services.workers(patient)
    if not alive:
        return
    yield from setup.api_key(patient)
    yield from tracker.connection(patient)
    yield from services.clocks(patient)
    checks: list[Callable[[Patient], Iterator[Finding]]] = [
        *setup.CHECKS,
        *templates.CHECKS,
        *tracker.CHECKS,
        *work.CHECKS,
    ]
    for check in checks:
        with suppress(BridgeError):
            yield from check(patient)


def _all(check: Callable[[Patient], Iterator[Finding]], patient: Patient) -> Generator[Finding, None, bool]:
    """Yield a check's findings; return whether none is a failure."""
    fine = True
    for finding in check(patient):
        fine = fine and finding.status is not Status.FAILURE
        yield finding
    return fine
