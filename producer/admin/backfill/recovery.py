"""Recovery mode after a restored backup: workers query the tracker before each creation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from producer.admin.records.transaction import Store
from shared.errors import SettingsError
from shared.notices.changes import Did
from shared.notices.refusals import Refusal
from shared.store.tables.journal import EventState

MARGIN = timedelta(days=1)
"""Extra look-back before the newest activity in the database, which may be from after the restore."""


@dataclass(frozen=True, slots=True)
class Recovering:
    """The state of recovery mode.

    Attributes:
        since: lookups ignore what was created on the tracker earlier.
        began_at: when the mode was switched on (database clock).
        pending: number of pending events.
        on_hold: number of creations that wait for a person.
    """

    since: datetime
    began_at: datetime
    pending: int
    on_hold: int


def begin(store: Store, retention_days: float, since: datetime | None = None) -> Recovering:
    """Switch recovery mode on; if it is on already, lookups can only reach further back.

    Args:
        store: the restored database.
        retention_days: how far to look back if the database has no activity at all.
        since: when the backup was made; None: the newest activity in the database, less a day.

    Raises:
        SettingsError: if `since` is in the future.
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
    """Return the state of recovery mode, or None if it is off."""
    with store.transaction() as tx:
        mode = tx.recovery.get()
        if mode is None:
            return None
        return Recovering(
            mode.since, mode.began_at, tx.journal.count(EventState.PENDING), tx.count_undecided()
        )


def end(store: Store) -> Recovering | None:
    """Switch recovery mode off; return its last state, or None if it was off."""
    before = status(store)
    with store.transaction() as tx:
        tx.recovery.end()
        if before is not None:
            tx.changes.note(Did.RECOVERY_ENDED())
    return before


def is_recovering(store: Store) -> bool:
    """Return whether recovery mode is on."""
    with store.transaction() as tx:
        return tx.recovery.get() is not None
