"""`deskbridge doctor`: is every part ready, and where not, what is to be done."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress

from producer.admin.doctor import helpdesk, services, setup, templates, tracker, work
from producer.admin.doctor.finding import RECORDS, CheckResult, Status
from producer.admin.doctor.patient import Patient
from shared.errors import BridgeError

__all__ = ["RECORDS", "CheckResult", "Patient", "Status", "examine", "examine_helpdesk"]


def examine(patient: Patient) -> Iterator[CheckResult]:
    """Check every part, those first without which the others cannot be checked.

    Args:
        patient: the installation.

    Yields:
        One result or more for each check.
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
    checks: list[Callable[[Patient], Iterator[CheckResult]]] = [
        *setup.CHECKS,
        *templates.CHECKS,
        *tracker.CHECKS,
        *work.CHECKS,
        *helpdesk.CHECKS,
    ]
    for check in checks:
        with suppress(BridgeError):
            yield from check(patient)


def examine_helpdesk(patient: Patient) -> Iterator[CheckResult]:
    """Check only whether the helpdesk is connected.

    Args:
        patient: the installation.
    """
    if (yield from _all(services.database, patient)):
        for check in helpdesk.CHECKS:
            yield from check(patient)


def _all(
    check: Callable[[Patient], Iterator[CheckResult]], patient: Patient
) -> Generator[CheckResult, None, bool]:
    """Yield a check's results; return whether none is a failure."""
    fine = True
    for result in check(patient):
        fine = fine and result.status is not Status.FAILURE
        yield result
    return fine
