"""Carries out a person's decisions on creations on hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.exc import IntegrityError

from producer.admin.presenters.shapes import OnHoldAbout
from producer.admin.records.transaction import Store, Transaction
from producer.admin.review.adoption import check_there
from producer.admin.review.candidates import is_older_than_sent
from producer.admin.services import Services
from shared.errors import BridgeError, NotFound, SettingsError, TrackerError
from shared.notices.changes import Did
from shared.notices.kinds import Kind
from shared.notices.notice import Notice, notice_json
from shared.notices.reasons import Verdict
from shared.notices.refusals import Refusal
from shared.store.decisions import Decisions, into_trace
from shared.store.ledger.transitions import FOR_A_PERSON
from shared.store.tables.ledger import LedgerRow


class NotResolved(BridgeError):
    """A decision that cannot be carried out; nothing was changed."""


def rows_on_hold(store: Store) -> list[tuple[Kind, LedgerRow]]:
    """Return every row that waits for a person, those waiting longest first."""
    with store.transaction() as tx:
        found: Sequence[tuple[Kind, LedgerRow]] = [
            (kind, row) for kind in Kind for row in tx.ledger(kind).waiting_for_a_person()
        ]
    return sorted(found, key=lambda one: one[1].changed_at)


def on_hold_about(services: Services) -> list[OnHoldAbout]:
    """Return the creations that wait for a person as the API has them, each with the title of its ticket."""
    rows = rows_on_hold(services.store)
    titles = services.names.titles({row.ticket_id for _, row in rows})
    return [OnHoldAbout.named(kind, row, titles) for kind, row in rows]


def page_on_hold(store: Store, *, limit: int, after: int = 0) -> list[tuple[Kind, LedgerRow]]:
    """Return a page of the rows that wait for a person, those waiting longest first.

    Args:
        store: where they are.
        limit: how many.
        after: how many to skip before them.
    """
    with store.transaction() as tx:
        wanted = tx.events.waiting_for_a_person(limit=limit, after=after)
        rows = {kind: tx.ledger(kind).of_keys([key for one, key in wanted if one is kind]) for kind in Kind}
    return [(kind, rows[kind][key]) for kind, key in wanted if key in rows[kind]]


def row_on_hold(store: Store, kind: Kind, key: int) -> LedgerRow | None:
    """Return a row that waits for a person, None if it does not."""
    with store.transaction() as tx:
        row = tx.ledger(kind).get(key)
    return row if row is not None and row.state in FOR_A_PERSON else None


@dataclass(frozen=True, slots=True)
class Resolved:
    """The result of a decision.

    Attributes:
        ticket_id: the ticket whose pending work continues.
        unchecked: why the adopted object could not be checked; None: it was checked, or nothing was adopted.
    """

    ticket_id: int
    unchecked: BridgeError | None = None


def resolve(services: Services, kind: Kind, key: int, adopt: int | None, *, is_sure: bool = True) -> Resolved:
    """Carry out a person's decision as `decide` does, and notify the ticket.

    An object to adopt is looked up on the tracker first; if the tracker cannot be read, it is adopted without a check.

    Args:
        services: the collaborators.
        kind: kind of the row.
        key: key of the row.
        adopt: the tracker id to adopt; None: create again.
        is_sure: whether to adopt an object even if it is older than the send.

    Raises:
        NotThere: if the tracker does not have the object to adopt.
        NotResolved: if the object is older than the send and the person is not sure, or as `decide`.
        NotFound: as `decide`.
    """
    found, unchecked = dict[str, Any](), None
    if adopt is not None:
        with services.store.transaction() as tx:
            row = _waiting(tx, kind, key)
        try:
            _, client = services.connector.connect()
            found = check_there(client, kind, row, adopt)
            if not is_sure and is_older_than_sent(row, str(found.get("created_on", ""))):
                raise NotResolved(Refusal.OLDER_THAN_SENT(kind=str(kind), id=key, number=adopt))
        except (SettingsError, TrackerError) as failure:
            unchecked = failure
    ticket_id = decide(services.store, kind, key, adopt, found)
    services.notify([ticket_id])
    return Resolved(ticket_id, unchecked)


def decide(
    store: Store, kind: Kind, key: int, adopt: int | None, listed: Mapping[str, Any] | None = None
) -> int:
    """Link a row on hold to an existing object of the tracker, or have the object created again.

    Args:
        store: where ledger and journal are.
        kind: kind of the row.
        key: key of the row.
        adopt: the tracker id to adopt; None: create again.
        listed: the object as the tracker lists it; None: it is not known.

    Returns:
        The id of the ticket to notify.

    Raises:
        NotFound: if no row of this kind and key waits for a person.
        NotResolved: if the tracker id belongs to another row, or no event is left that would create the object again.
    """
    try:
        with store.transaction() as tx:
            row = _waiting(tx, kind, key)
            if adopt is not None:
                _check_free(tx, kind, key, adopt, listed or {})
            ticket_id, was = row.ticket_id, row.notice
            config, _ = tx.configs.get()
            decisions = Decisions(tx, kind, into_trace(tx), config)
            if adopt is not None:
                decisions.adopt_by_person(row, adopt, listed)
            elif not decisions.create_again(row):
                raise NotResolved(
                    Refusal.NOTE_PAST_RETENTION(kind=str(kind), id=key)
                    if kind.is_addition
                    else Refusal.EVENTS_PAST_RETENTION(task_id=key)
                )
            verdict = _verdict(kind, adopt)
            tx.changes.note(
                Did.HELD_RESOLVED(kind=kind, id=key, verdict=verdict), before=was and notice_json(was)
            )
            return ticket_id
    except IntegrityError:
        raise NotResolved(Refusal.LINKED_MEANWHILE(kind=str(kind), number=adopt)) from None


def _verdict(kind: Kind, adopt: int | None) -> Notice:
    if adopt is None:
        return Verdict.CREATE_AGAIN(kind=kind)
    return Verdict.ADOPT(kind=kind, tracker_id=adopt)


def _waiting(tx: Transaction, kind: Kind, key: int) -> LedgerRow:
    """Lock and return a row that waits for a person."""
    row = tx.ledger(kind).lock(key)
    if row is None or row.state not in FOR_A_PERSON:
        named = {"kind": str(kind), "id": key}
        raise NotFound(
            Refusal.NOT_HELD_BUT(**named, state=row.state) if row else Refusal.NOT_HELD_NOR_KNOWN(**named)
        )
    return row


def _check_free(tx: Transaction, kind: Kind, key: int, adopt: int, listed: Mapping[str, Any]) -> None:
    holder, held = tx.ledger(kind).holder(adopt), tx.ledger(kind).holders([{**listed, "id": adopt}])
    if held and holder is not None and (holder.kind, holder.key) != (kind, key):
        raise NotResolved(Refusal.LINKED_ALREADY(kind=str(holder.kind), number=adopt, id=holder.key))
