"""What waits for a person at the end of a drill, and the rules that tell whether a person is really needed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select

from producer.admin.records.transaction import Store
from producer.admin.review.held import rows_on_hold
from shared.notices.kinds import Kind
from shared.store.tables.journal import EventState, JournalEvent
from shared.store.tables.ledger import LedgerState


@dataclass(frozen=True)
class OnHold:
    """One row or event that waits for a person.

    Attributes:
        what: `ticket` or `ticket-task` of the ledger, or `event` of the journal.
        key: its key in the ledger, or its event id.
        state: `on_hold`, `gone` or `failed`.
        tracker_ids: ids of the tracker objects that it names.
    """

    what: str
    key: int
    ticket_id: int
    state: str
    reason: str
    tracker_ids: tuple[int, ...] = ()
    duplicate: bool = False


@dataclass(frozen=True)
class Judged:
    """An item on hold and the rule that requires a person; None if deskbridge could have decided."""

    item: OnHold
    rule: str | None


def read_on_hold(store: Store) -> list[OnHold]:
    """Return every ledger row and every event that waits for a person."""
    found = [
        OnHold(
            str(kind),
            row.key,
            row.ticket_id,
            str(row.state),
            row.reason or "",
            tuple(one for one in (row.tracker_id, *(row.candidates or ())) if one is not None),
            row.duplicate,
        )
        for kind, row in rows_on_hold(store)
    ]
    waiting = (EventState.ON_HOLD, EventState.FAILED)
    with store.database.transaction() as session:
        events = session.scalars(select(JournalEvent).where(JournalEvent.state.in_(waiting)))
        found += [OnHold("event", one.id, one.ticket_id, str(one.state), one.reason or "") for one in events]
    return found


def judge(
    held: Sequence[OnHold],
    deleted: Mapping[int, int],
    unlinked: Mapping[str, Collection[int]],
) -> list[Judged]:
    """Return each item with the rule that requires a person.

    Args:
        held: the items.
        deleted: tickets whose issue was deleted on the tracker.
        unlinked: ids of tracker objects that no ledger row is linked to, by kind.
    """
    return [Judged(one, _rule(one, held, deleted, unlinked)) for one in held]


def _rule(
    item: OnHold, held: Sequence[OnHold], deleted: Mapping[int, int], unlinked: Mapping[str, Collection[int]]
) -> str | None:
    if item.ticket_id in deleted:
        return "its issue was deleted on the tracker: only a person knows why"
    if item.duplicate:
        return None
    if item.what == "event":
        of_ticket = [one for one in held if one.ticket_id == item.ticket_id and one.what != "event"]
        waits = item.state == EventState.ON_HOLD and of_ticket
        return "it waits for the held row of its ticket" if waits else None
    if item.state == LedgerState.ON_HOLD and set(item.tracker_ids) & set(unlinked.get(item.what, ())):
        return "the tracker has an object that nothing is linked to, by an unexpected author or with another text"
    return None


def unlinked_objects(store: Store, there: Mapping[Kind, Collection[int]]) -> dict[str, set[int]]:
    """Return the ids of tracker objects that no ledger row is linked to, by kind.

    Args:
        store: deskbridge's database.
        there: ids of the tracker's objects, by kind; kinds with the same noun share their ids.
    """
    with store.transaction() as tx:
        linked = {kind: {row.tracker_id for row in tx.ledger(kind).linked()} for kind in Kind}
    return {
        str(kind): set(ids).difference(*(linked[one] for one in Kind if one.noun == kind.noun))
        for kind, ids in there.items()
    }
