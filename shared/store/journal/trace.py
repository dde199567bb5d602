"""The ticket history: what happened to a ticket and why, with every outbound call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any, cast

from sqlalchemy import Float, Table, func, insert, literal_column, select
from sqlalchemy.orm import Session

from shared.notices.notice import Notice, to_json
from shared.store.tables.functions import Rows
from shared.store.tables.journal import TraceStep
from shared.store.tables.prepared import execute_prepared
from shared.store.tables.types import delete_oldest, is_on_postgresql

STEPS = cast(Table, TraceStep.__table__)
APPENDED = Rows(
    {name: STEPS.c[name].type for name in ("ticket_id", "task_id", "at", "code", "params", "call")}
    | {"age": Float()}
)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a ticket's history.

    Attributes:
        notice: what happened, and why.
        call: the outbound call: method, path, as, status, ms, body, answer; never the API key.
    """

    ticket_id: int
    notice: Notice
    task_id: int | None = None
    call: dict[str, Any] | None = None
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


class Trace:
    """Appends and reads steps within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def append(self, steps: Sequence[Step]) -> None:
        """Append steps in this order."""
        if not steps:
            return
        here = datetime.now(UTC)
        rows = (
            {
                "ticket_id": step.ticket_id,
                "task_id": step.task_id,
                "at": step.at,
                "code": str(step.notice.code),
                "params": to_json(step.notice.params),
                "call": step.call,
                "age": (here - step.at).total_seconds(),
            }
            for step in steps
        )
        statement = _appending(postgresql=is_on_postgresql(self._session))
        execute_prepared(self._session, statement, APPENDED.parameters(self._session, rows))

    def of_ticket(self, ticket_id: int) -> Sequence[TraceStep]:
        """Return a ticket's steps, oldest first."""
        statement = select(TraceStep).where(TraceStep.ticket_id == ticket_id).order_by(TraceStep.id)
        return self._session.scalars(statement).all()

    def prune(self, older_than_days: float, limit: int) -> int:
        """Delete steps past their retention; return their number (at most `limit`)."""
        return delete_oldest(self._session, TraceStep.at, older_than_days, limit)


@cache
def _appending(*, postgresql: bool) -> Any:
    """Return the statement that appends steps; it is built once.

    On PostgreSQL, steps get the time of the database's clock: with a worker's clock, which may be wrong, they could
    appear before steps that they followed. With SQLite there is only one machine and one clock.
    """
    given = APPENDED.table()
    values: dict[str, Any] = {name: given.c[name] for name in given.c.keys() if name != "age"}  # noqa: SIM118 (no mapping)
    if postgresql:
        values["at"] = func.clock_timestamp() - given.c.age * literal_column("interval '1 second'")
    return insert(STEPS).from_select(list(values), select(*values.values()))
