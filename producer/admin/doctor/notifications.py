"""Checks that notifications reach people, if they are set up."""

from __future__ import annotations

from collections.abc import Iterator

from producer.admin.doctor.checks import Group, check
from producer.admin.doctor.finding import CheckResult, ok, warning
from producer.admin.doctor.installation import Installation
from producer.admin.presenters.moments import stamp
from shared.notices.doctor_service import ServiceFinding
from shared.notifications.delivery import EXTRA, PACKAGE, is_installed


@check(Group.CACHE, {"notifications": "KB-SERVICE-012"})
def notifications(installation: Installation) -> Iterator[CheckResult]:
    """Check that this process can send, and that every service accepted the last message."""
    with installation.store.transaction() as tx:
        found = tx.notifications.get()
    if found is None:
        yield ok("notifications", ServiceFinding.NOBODY_NOTIFIED())
    elif not is_installed():
        missing = ServiceFinding.NOTIFICATIONS_NOT_INSTALLED(package=PACKAGE, extra=EXTRA)
        yield warning("notifications", missing)
    elif found.why_failed:
        at = stamp(found.failed_at)
        yield warning("notifications", ServiceFinding.NOTIFICATION_NOT_TAKEN(at=at, problem=found.why_failed))
    else:
        named = list(found.services)
        yield ok(
            "notifications", ServiceFinding.NOTIFICATIONS_WORK(count=len(named), services=sorted(set(named)))
        )
