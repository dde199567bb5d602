"""`deskbridge doctor`: checks whether every part is ready, and reports what to do if one is not."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Generator, Iterator
from contextlib import suppress
from contextvars import copy_context
from queue import Empty, SimpleQueue

from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from producer.admin.doctor import (
    helpdesk,  # noqa: F401 (each of these registers its checks)
    live,
    notifications,  # noqa: F401
    services,
    setup,
    templates,  # noqa: F401
    tracker,
    work,  # noqa: F401
)
from producer.admin.doctor.checks import Check, Group, QuickCheckMode, checks, parts, parts_of, registered
from producer.admin.doctor.finding import RECORDS, CheckResult, Status, unknown
from producer.admin.doctor.installation import Installation
from shared.errors import BridgeError
from shared.notices.doctor_service import ServiceFinding
from shared.store.tables.database import words_of

__all__ = ["RECORDS", "CheckResult", "Installation", "Status", "examine", "examine_helpdesk"]

IN_REDIS = (
    services.others,
    services.worker,
    services.beat,
    services.console,
    services.calls,
    services.rate_limit,
    services.slowness,
)
"""Checks of what the processes have left in Redis."""
LOCAL = checks(Group.CACHE, Group.WORK, Group.HELPDESK)
"""Checks of the database and the help desk."""
LIVE = checks(Group.TRACKER, Group.SETTINGS, Group.TEMPLATES)
"""Checks that only the tracker can answer."""


def examine(installation: Installation) -> Iterator[CheckResult]:
    """Check every part, those on which others depend first; report as unknown what could not be checked.

    Args:
        installation: the installation.

    Yields:
        One result or more for each check.
    """
    well = installation.well
    for result in _examine(installation):
        well[result.check] = well.get(result.check, True) and result.status is Status.OK
        yield result
    for check in parts():
        if check not in well:
            late = ServiceFinding.NOT_REACHED_IN_TIME(seconds=installation.limit_s)
            yield unknown(check, late if installation.is_late else ServiceFinding.NOT_LOOKED_AT())


def _examine(installation: Installation) -> Iterator[CheckResult]:
    alive = yield from _all(services.database, installation)
    is_written = yield from _all(services.redis, installation)
    if is_written or not installation.settings.is_broker_redis:  # else it adds nothing
        yield from _tried(services.broker, installation)
    for check in IN_REDIS if is_written else ():  # else there can be no heartbeats in it
        yield from _tried(check, installation)
    if not alive:
        return
    yield from _tried(services.producer, installation)
    yield from _tried(services.versions, installation)
    yield from _tried(setup.api_key, installation)
    yield from _in_time(_of_the_tracker, installation)
    yield from _tried(services.clocks, installation)
    for check in LOCAL:
        yield from _tried(check, installation)


def _of_the_tracker(installation: Installation) -> Iterator[CheckResult]:
    yield from _tried(tracker.connection, installation)
    if installation.is_tracker_open:
        yield from _tried(live.read, installation)
    for check in LIVE if installation.projects is not None else ():
        yield from _tried(check, installation)


def _tried(check: Check, installation: Installation) -> Iterator[CheckResult]:
    """Yield a check's results; a check that fails itself says why, and the next ones are made."""
    try:
        yield from check(installation)
    except BridgeError:
        return
    except (SQLAlchemyError, RedisError) as error:
        for part in parts_of(check):
            yield unknown(part, ServiceFinding.CHECK_FAILED(error=words_of(error)))


def _in_time(check: Check, installation: Installation) -> Iterator[CheckResult]:
    """Yield what a check finds within the tracker's time limit; what its thread finds later is dropped."""
    if installation.patience_s is None:
        yield from check(installation)
        return
    found: SimpleQueue[CheckResult | BaseException | None] = SimpleQueue()

    def look() -> None:
        try:
            for result in check(installation):
                found.put(result)
            found.put(None)
        except BaseException as fault:  # noqa: BLE001 (raised where it is waited for)
            found.put(fault)

    until = time.monotonic() + installation.limit_s
    threading.Thread(target=copy_context().run, args=(look,), daemon=True, name="doctor").start()
    while True:
        try:
            result = found.get(timeout=max(0.0, until - time.monotonic()))
        except Empty:
            installation.is_late = True
            return
        if result is None:
            return
        if isinstance(result, BaseException):
            raise result
        yield result


def at_a_glance(
    installation: Installation, *, asks_redis: bool = True, noted: Collection[str] = ()
) -> list[CheckResult]:
    """Return the problems that can be found at any time: without calls to the tracker, and with few queries.

    Args:
        installation: the installation.
        asks_redis: whether to query Redis, too.
        noted: the parts with `QuickCheckMode.NOTED` that have something to report.
    """
    found: list[CheckResult] = []
    looks = {glance: [one for one in registered() if one.glance is glance] for glance in QuickCheckMode}
    looked_at = looks[QuickCheckMode.ALWAYS] + (looks[QuickCheckMode.IN_REDIS] if asks_redis else [])
    looked_at += [one for part in noted for one in looks[QuickCheckMode.NOTED] if part in one.parts]
    for look in looked_at:
        with suppress(SQLAlchemyError):  # the first of them reports it
            found += look.function(installation)
    return [one for one in found if one.status is not Status.OK]


def examine_helpdesk(installation: Installation) -> Iterator[CheckResult]:
    """Check only whether the help desk is connected.

    Args:
        installation: the installation.
    """
    if (yield from _all(services.database, installation)):
        for check in checks(Group.HELPDESK):
            yield from check(installation)


def _all(check: Check, installation: Installation) -> Generator[CheckResult, None, bool]:
    """Yield a check's results; return whether none is a failure."""
    fine = True
    for result in check(installation):
        fine = fine and result.status is not Status.FAILURE
        yield result
    return fine
