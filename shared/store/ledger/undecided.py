"""Creations that wait for a person's decision."""

from __future__ import annotations

from sqlalchemy import ScalarSelect, func, literal, select, union_all
from sqlalchemy.orm import Session

from shared.store.ledger.ledger_queries import NOT_LINKED
from shared.store.ledger.transitions import FOR_A_PERSON
from shared.store.tables.ledger import TaskTimeLink, TicketIssueLink


class Undecided:
    """Counts them within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def count(self) -> int:
        return self._session.scalar(select(undecided_count())) or 0


def undecided_count() -> ScalarSelect[int]:
    """Return how many there are, for a statement."""
    held = union_all(
        *(select(literal(1)).select_from(model).where(NOT_LINKED, model.state.in_(FOR_A_PERSON))
          for model in (TicketIssueLink, TaskTimeLink))
    )  # fmt: skip
    return select(func.count()).select_from(held.subquery()).scalar_subquery()
