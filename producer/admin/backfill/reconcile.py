"""Compares the help desk with the journal on request."""

from __future__ import annotations

from datetime import date, datetime

from producer.admin.services import Services
from shared.errors import SettingsError
from shared.helpdesk.configured import configured_lookup
from shared.helpdesk.reconciliation import Reconciled, reconcile
from shared.notices.system_refusals import SystemRefusal


def compare(
    services: Services, since: datetime | None, *, hours_since: date | None, dry_run: bool
) -> Reconciled:
    """Add events that the journal never received, and notify their tickets; a dry run only reports them.

    Args:
        services: the collaborators.
        since: how far to look back; None: to the last run, less a day.
        hours_since: leave out ticket tasks of earlier days.
        dry_run: whether to change nothing.

    Raises:
        SettingsError: if no help desk API is configured.
        HelpdeskUnreachable: if the help desk does not answer.
    """
    lookup = configured_lookup(services.settings)
    if lookup is None:
        raise SettingsError(SystemRefusal.HELPDESK_API_NOT_SET())
    found = reconcile(services.store, lookup, since, hours_since=hours_since, dry_run=dry_run)
    if not dry_run:
        services.notify(sorted(found.tickets))
    return found
