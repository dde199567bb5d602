"""Compares the helpdesk with the journal at a person's word."""

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
    """Forward what the helpdesk has and no event told of, and ring its tickets; a dry run only tells of it.

    Args:
        services: the collaborators.
        since: how far to look back; None: since the last run, less a day.
        hours_since: leave out ticket tasks of an earlier day.
        dry_run: whether nothing is changed.

    Raises:
        SettingsError: no helpdesk can be asked.
        HelpdeskUnreachable: it does not answer.
    """
    lookup = configured_lookup(services.settings)
    if lookup is None:
        raise SettingsError(SystemRefusal.HELPDESK_API_NOT_SET())
    found = reconcile(services.store, lookup, since, hours_since=hours_since, dry_run=dry_run)
    if not dry_run:
        services.notify(sorted(found.tickets))
    return found
