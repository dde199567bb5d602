"""`deskbridge doctor`: is every part ready, and where not, what is to be done."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress

from producer.admin.doctor import helpdesk, services, setup, templates, tracker, work
from producer.admin.doctor.finding import RECORDS, CheckResult, Status
from producer.admin.doctor.installation import Installation
from shared.errors import BridgeError

__all__ = ["RECORDS", "CheckResult", "Installation", "Status", "examine", "examine_helpdesk"]


def examine(installation: Installation) -> Iterator[CheckResult]:
    """Check every part, those first without which the others cannot be checked.

    Args:
        installation: the installation.

    Yields:
        One result or more for each check.
    """
    alive = yield from _all(services.database, installation)
    yield from services.redis(installation)
    yield from services.broker(installation)
    yield from services.workers(installation)
    if not alive:
        return
    yield from setup.api_key(installation)
    yield from tracker.connection(installation)
    yield from services.clocks(installation)
    checks: list[Callable[[Installation], Iterator[CheckResult]]] = [
        *setup.CHECKS,
        *templates.CHECKS,
        *tracker.CHECKS,
        *work.CHECKS,
        *helpdesk.CHECKS,
    ]
    for check in checks:
        with suppress(BridgeError):
            yield from check(installation)


def examine_helpdesk(installation: Installation) -> Iterator[CheckResult]:
    """Check only whether the helpdesk is connected.

    Args:
        installation: the installation.
    """
    if (yield from _all(services.database, installation)):
        for check in helpdesk.CHECKS:
            yield from check(installation)


def _all(
    check: Callable[[Installation], Iterator[CheckResult]], installation: Installation
) -> Generator[CheckResult, None, bool]:
    """Yield a check's results; return whether none is a failure."""
    fine = True
    for result in check(installation):
        fine = fine and result.status is not Status.FAILURE
        yield result
    return fine
