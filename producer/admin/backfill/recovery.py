"""Working on after a backup was restored: the tracker is asked before each creation, until a person ends it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from producer.admin.records.transaction import Store
from shared.errors import SettingsError
from shared.notices.changes import Did
from shared.notices.refusals import Refusal
from shared.store.tables.journal import EventState

MARGIN = timedelta(days=1)
"""Looked back further than to the newest thing the database knows of, in case deskbridge has run since."""


@dataclass(frozen=True, slots=True)
class Recovering:
    """How far lookups reach back, since when the mode is on, and what is still to be done.

    Attributes:
        since: nothing that was created on the tracker earlier is looked for.
        began_at: when the mode was switched on (database clock).
        pending: events that wait.
        on_hold: creations that wait for a person.
    """

    since: datetime
    began_at: datetime
    pending: int
    on_hold: int


def begin(store: Store, retention_days: float, since: datetime | None = None) -> Recovering:
    """Ask the tracker before each creation from now on; if that is so already, only ever look further back.

    Args:
        store: the restored database.
        retention_days: how far to look back if the database knows of nothing at all.
        since: when the backup was made; None: the newest moment that the database knows of, less a day.

    Raises:
        SettingsError: the time lies in the future.
    """
    with store.transaction() as tx:
        now = tx.now()
        if since is not None and since > now:
            raise SettingsError(Refusal.RESTORED_IN_FUTURE(since=f"{since:%Y-%m-%d %H:%M}"))
        if since is None:
            last = tx.recovery.last_activity()
            since = min(last, now) - MARGIN if last else now - timedelta(days=retention_days)
        tx.recovery.begin(since)
        tx.changes.note(Did.RECOVERY_BEGUN(), after=f"{since:%Y-%m-%d %H:%M}")
    found = status(store)
    assert found is not None, "it was just begun"  # noqa: S101
    return found


def status(store: Store) -> Recovering | None:
    """Return how it stands, None if the mode is off."""
    with store.transaction() as tx:
        mode = tx.recovery.get()
        if mode is None:
            return None
        return Recovering(
            mode.since, mode.began_at, tx.journal.count(EventState.PENDING), tx.count_undecided()
        )


def end(store: Store) -> Recovering | None:
    """Create without asking again; return how it stood, None if the mode was off."""
    before = status(store)
    with store.transaction() as tx:
        tx.recovery.end()
        if before is not None:
            tx.changes.note(Did.RECOVERY_ENDED())
    return before


def is_recovering(store: Store) -> bool:
    """Return whether the tracker is asked before each creation."""
    with store.transaction() as tx:
        return tx.recovery.get() is not None
