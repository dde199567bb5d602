"""Is the helpdesk connected: do its events come, can they be read, can it be asked, has anything been missed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from producer.admin.doctor.finding import CheckResult, failure, ok, warning
from producer.admin.doctor.installation import Installation
from shared.codes.findings import Finding
from shared.helpdesk.configured import configured_lookup
from shared.helpdesk.lookup import HelpdeskUnreachable

QUIET_S = 86400.0
CLOCKS_S = 120.0
DAYS_S = 2 * 86400.0


def events(installation: Installation) -> Iterator[CheckResult]:
    """Events have come in lately."""
    with installation.store.transaction() as tx:
        newest, now = tx.journal.newest_received(), tx.now()
    if newest is None:
        yield warning("helpdesk events", Finding.NO_EVENT_YET())
        return
    seconds = (now - newest).total_seconds()
    found = Finding.LAST_EVENT(minutes=seconds / 60)
    yield warning("helpdesk events", found) if seconds > QUIET_S else ok("helpdesk events", found)


def unreadable(installation: Installation) -> Iterator[CheckResult]:
    """Every delivery could be read."""
    with installation.store.transaction() as tx:
        count = tx.journal.count_unreadable()
    if count:
        yield failure("deliveries", Finding.DELIVERIES_UNREADABLE(count=count))
    else:
        yield ok("deliveries", Finding.DELIVERIES_READABLE())


def api(installation: Installation) -> Iterator[CheckResult]:
    """The helpdesk's API can be asked, and its clock agrees."""
    lookup = configured_lookup(installation.settings)
    if lookup is None:
        yield ok("helpdesk API", Finding.HELPDESK_API_NOT_USED())
        return
    try:
        theirs = lookup.now()
    except HelpdeskUnreachable as problem:
        yield failure("helpdesk API", Finding.HELPDESK_API_UNREACHABLE(problem=problem.problem))
        return
    seconds = abs((theirs - datetime.now(UTC)).total_seconds())
    if seconds > CLOCKS_S:
        yield warning("helpdesk API", Finding.HELPDESK_CLOCK_DIFFERS(seconds=seconds))
    else:
        yield ok("helpdesk API", Finding.HELPDESK_API_ANSWERS(seconds=seconds))


def reconciled(installation: Installation) -> Iterator[CheckResult]:
    """The helpdesk was compared with the journal lately, and nothing had been missed."""
    if configured_lookup(installation.settings) is None:
        yield ok("reconciliation", Finding.HELPDESK_API_NOT_USED())
        return
    with installation.store.transaction() as tx:
        mark, now = tx.reconciliation.get(), tx.now()
    if mark is None or (now - mark.ran_at).total_seconds() > DAYS_S:
        yield warning("reconciliation", Finding.NOT_RECONCILED())
    elif mark.missing:
        yield warning("reconciliation", Finding.EVENTS_WERE_MISSED(count=mark.missing))
    else:
        yield ok("reconciliation", Finding.NOTHING_WAS_MISSED())


CHECKS = (events, unreadable, api, reconciled)
