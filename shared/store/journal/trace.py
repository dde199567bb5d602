"""The trace: what happened to a ticket and why, with every outbound call (CONTRACT `trace`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from sqlalchemy import Table, delete, insert, select
from sqlalchemy.orm import Session

from shared.codes.coded import Coded, to_json
from shared.store.tables.models import TraceStep
from shared.store.tables.types import moment

APPENDING = insert(cast(Table, TraceStep.__table__))


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened.

    Attributes:
        coded: what happened, and why.
        call: the outbound call: method, path, as, status, ms, body, answer; never the key.
    """

    ticket_id: int
    coded: Coded
    task_id: int | None = None
    call: dict[str, Any] | None = None
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


class Trace:
    """Appends and reads steps within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def append(self, steps: Sequence[Step]) -> None:
        """Append steps in their order."""
        if steps:
            self._session.execute(
                APPENDING,
                [
                    {
                        "ticket_id": step.ticket_id,
                        "task_id": step.task_id,
                        "at": step.at,
                        "what": str(step.coded.code),
                        "why": "",
                        "code": str(step.coded.code),
                        "params": to_json(step.coded.params),
                        "call": step.call,
                    }
                    for step in steps
                ],
            )

    def of_ticket(self, ticket_id: int) -> Sequence[TraceStep]:
        """Return a ticket's steps, oldest first."""
        statement = select(TraceStep).where(TraceStep.ticket_id == ticket_id).order_by(TraceStep.id)
        return self._session.scalars(statement).all()

    def prune(self, older_than_days: float, limit: int) -> int:
        """Delete steps past their retention; return how many (at most `limit`)."""
        old = select(TraceStep.id).where(TraceStep.at < moment(-older_than_days * 86400))
        old = old.order_by(TraceStep.at).limit(limit)
        statement = delete(TraceStep).where(TraceStep.id.in_(old)).returning(TraceStep.id)
        return len(self._session.execute(statement).all())
