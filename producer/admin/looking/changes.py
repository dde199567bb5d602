"""Who changed what, as it was noted with each change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from producer.admin.records.transaction import Store
from shared.codes.refusals import Refusal
from shared.errors import NotFound
from shared.store.tables.configuration import ChangeRecord


def latest_changes(
    store: Store, *, limit: int, below: int | None = None, who: str | None = None, code: str | None = None
) -> Sequence[ChangeRecord]:
    """Return changes, newest first."""
    with store.transaction() as tx:
        return tx.changes.find(limit=limit, older_than=below, who=who, code=code)


def change_of(store: Store, change_id: int) -> tuple[ChangeRecord, Any]:
    """Return a change, and of a replay what became of the events; else None.

    Raises:
        NotFound: there is no such change.
    """
    with store.transaction() as tx:
        found = tx.changes.get(change_id)
        if found is None:
            raise NotFound(Refusal.CHANGE_UNKNOWN(change_id=change_id))
        ids = found.after.get("event_ids") if isinstance(found.after, dict) else None
        return found, tx.events.states_of(ids) if isinstance(ids, list) else None
