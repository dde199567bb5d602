"""What waits for a person at the end of a drill, and whether a person was really needed, by rule."""

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
        key: its number.
        state: `on_hold`, `gone` or `failed`.
        tracker_ids: objects of the tracker that it names.
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
    """A held item, with the rule by which a person is needed; None: the machine could have decided."""

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
    """Say of each held item by which rule it cannot be decided without a person.

    Args:
        held: the items.
        deleted: tickets whose issue was deleted on the tracker.
        unlinked: by kind, objects of the tracker that no ledger row is linked to.
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
        return "the tracker has an object with its text that nothing is linked to, by an unexpected author"
    return None


def unlinked_objects(store: Store, there: Mapping[Kind, Collection[int]]) -> dict[str, set[int]]:
    """Return the tracker's objects that no ledger row is linked to, by kind.

    Args:
        store: the bridge's database.
        there: what the tracker has, by kind; kinds of one noun are numbered together.
    """
    with store.transaction() as tx:
        linked = {kind: {row.tracker_id for row in tx.ledger(kind).linked()} for kind in Kind}
    return {
        str(kind): set(ids).difference(*(linked[one] for one in Kind if one.noun == kind.noun))
        for kind, ids in there.items()
    }
