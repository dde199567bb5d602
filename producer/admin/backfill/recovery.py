"""After a restored backup: a person confirms the database, and workers query the tracker before each creation."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from redis import Redis
from redis.exceptions import RedisError

from producer.admin.records.transaction import Store, Transaction
from shared.errors import SettingsError
from shared.notices.changes import Did
from shared.notices.refusals import Refusal
from shared.redis.heartbeat import ALIVE_S, WORKER, Heartbeats
from shared.redis.locks import Locks
from shared.store.tables.journal import EventState, RecoveryMode

MARGIN = timedelta(days=1)
"""Extra look-back before the newest activity in the database."""

RECENT = timedelta(minutes=5)
"""A backup of this age needs no wait: what happened since is still on its way."""


@dataclass(frozen=True, slots=True)
class Recovering:
    """The state of recovery mode.

    Attributes:
        since: lookups ignore what was created on the tracker earlier.
        began_at: when the mode was switched on (database clock).
        pending: number of pending events.
        on_hold: number of creations that wait for a person.
        needed_until: when the mode has been on for as long as the backup was old; None: nothing has to be waited for.
    """

    since: datetime
    began_at: datetime
    pending: int
    on_hold: int
    needed_until: datetime | None


def begin(store: Store, retention_days: float, since: datetime | None = None) -> Recovering:
    """Confirm a restored database, and switch recovery mode on; if it is on, lookups can only reach further back.

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
            backup_at = min(last, now) if last else now - timedelta(days=retention_days)
            since = backup_at - MARGIN
        else:
            backup_at = since
        if (
            tx.reconciliation.get() is None
        ):  # else the first comparison would begin with what GLPI changes from now on
            tx.reconciliation.ran(backup_at, 0)
        tx.recovery.begin(since, backup_at)
        tx.recovery.confirm(now)
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
        pending, on_hold = tx.journal.count(EventState.PENDING), tx.count_undecided()
        return Recovering(mode.since, mode.began_at, pending, on_hold, _needed_until(tx, mode))


def _needed_until(tx: Transaction, mode: RecoveryMode) -> datetime | None:
    """Return how long a ticket may be unknown that has an issue: its events since the backup were not sent again.

    A comparison with the help desk since then has appended them.
    """
    compared = tx.reconciliation.get()
    if compared and compared.ran_at > mode.began_at and compared.read_until >= mode.began_at:
        return None
    is_recent = mode.needed_until - mode.began_at <= RECENT
    return None if is_recent or tx.now() >= mode.needed_until else mode.needed_until


def end(store: Store, *, nothing_lost: bool = False) -> Recovering | None:
    """Switch recovery mode off; return its last state, or None if it was off.

    Args:
        store: the database.
        nothing_lost: whether a person says that the database lacks nothing, which confirms it without recovery mode.

    Raises:
        SettingsError: if something may still be unknown that was created since the backup.
    """
    before = status(store)
    if before and not nothing_lost:
        if before.pending:
            raise SettingsError(Refusal.RECOVERY_NEEDED_BY_PENDING(count=before.pending))
        if before.needed_until:
            raise SettingsError(
                Refusal.RECOVERY_NEEDED_UNTIL(until=f"{before.needed_until:%Y-%m-%d %H:%M} UTC")
            )
    with store.transaction() as tx:
        tx.recovery.end()
        if nothing_lost:
            tx.recovery.confirm(tx.now())
        if before is not None or nothing_lost:
            tx.changes.note(Did.RECOVERY_ENDED())
    return before


def seconds_since_worker(redis: Redis) -> float | None:
    """Return how long ago a worker was running, if it may still run; None if none does, or Redis does not answer."""
    try:
        seconds = Heartbeats(redis).seconds_since(WORKER)
    except RedisError:
        return None
    return seconds if seconds is not None and seconds <= ALIVE_S else None


def forget_newest(redis: Redis) -> None:
    """Let Redis forget the newest event: a person has confirmed the database; without Redis its epoch says so."""
    with suppress(RedisError):
        Locks(redis, 0).forget_newest()


def is_recovering(store: Store) -> bool:
    """Return whether recovery mode is on."""
    with store.transaction() as tx:
        return tx.recovery.get() is not None
