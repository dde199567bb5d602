"""Undoes a person's adoption, as long as nothing was sent for the ticket since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from producer.admin.records.transaction import Transaction
from producer.admin.services import Services
from shared.errors import BridgeError, LockBusy, NotFound
from shared.notices.changes import Did
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.reasons import Reason, Verdict
from shared.notices.refusals import Refusal
from shared.notices.steps import What
from shared.redis.locks import of_ticket
from shared.store.decisions import Decisions, into_trace
from shared.store.tables.ledger import LedgerRow, LedgerState


class NotTakenBack(BridgeError):
    """An adoption that cannot be undone; nothing was changed."""


class Adoption(NamedTuple):
    """An object that a person adopted for a ticket, a ticket task or another item."""

    kind: Kind
    key: int
    tracker_id: int


class Step(Protocol):
    """A step of a ticket's history."""

    @property
    def notice(self) -> Notice:
        """What happened."""

    @property
    def call(self) -> dict[str, Any] | None:
        """The call to the tracker that was made."""


def unused_adoptions(steps: Sequence[Step]) -> list[Adoption]:
    """Return a person's adoptions since the last call that was not a GET, without the undone ones.

    Args:
        steps: the ticket's history, oldest first.
    """
    found: dict[tuple[Kind, int], Adoption] = {}
    for step in steps:
        if step.call and step.call.get("method") != "GET":
            found.clear()
        elif step.notice.code == What.PERSON_DECIDES:
            adoption = _adoption(step.notice)
            if adoption:
                found[adoption.kind, adoption.key] = adoption
        elif step.notice.code == What.ADOPTION_TAKEN_BACK:
            tracker_id = step.notice.params.get("tracker_id")
            found = {place: one for place, one in found.items() if one.tracker_id != tracker_id}
    return list(found.values())


def take_back(services: Services, kind: Kind, key: int) -> Adoption:
    """Put a row that a person has linked on hold again, and notify its ticket.

    Raises:
        NotFound: if no person has linked it.
        NotTakenBack: if something was sent since, or a worker is processing the ticket.
    """
    with services.store.transaction() as tx:
        ticket_id = _adopted(tx, kind, key).ticket_id
    try:
        with services.locks.hold(of_ticket(ticket_id)), services.store.transaction() as tx:
            row = _adopted(tx, kind, key)
            tracker_id = row.tracker_id or 0
            adoption = Adoption(kind, key, tracker_id)
            named = {"kind": str(kind), "tracker_id": tracker_id}
            if adoption not in unused_adoptions(tx.trace.of_ticket(ticket_id)):
                raise NotTakenBack(Refusal.SENT_SINCE_ADOPTION(**named))
            config, _ = tx.configs.get()
            if not Decisions(tx, kind, into_trace(tx), config).take_back(row, tracker_id):
                raise NotFound(Refusal.ADOPTION_NOT_A_PERSONS(kind=str(kind), id=key))
            tx.changes.note(
                Did.ADOPTION_TAKEN_BACK(kind=kind, id=key, tracker_id=tracker_id), before=tracker_id
            )
    except LockBusy:
        raise NotTakenBack(Refusal.ADOPTION_IN_USE(ticket_id=ticket_id)) from None
    services.notify([ticket_id])
    return adoption


def _adopted(tx: Transaction, kind: Kind, key: int) -> LedgerRow:
    """Lock and return a row that a person has linked."""
    row = tx.ledger(kind).lock(key)
    if (
        row is not None
        and row.state == LedgerState.LINKED
        and row.adopted
        and row.has_code(Reason.PERSON_DECIDED)
    ):
        return row
    raise NotFound(Refusal.ADOPTION_NOT_A_PERSONS(kind=str(kind), id=key))


def _adoption(decided: Notice) -> Adoption | None:
    verdict, kind, key = (decided.params.get(name) for name in ("verdict", "kind", "key"))
    if not isinstance(verdict, Notice) or verdict.code != Verdict.ADOPT or not isinstance(key, int):
        return None
    tracker_id = verdict.params.get("tracker_id")
    return Adoption(Kind(str(kind)), key, tracker_id) if isinstance(tracker_id, int) else None
