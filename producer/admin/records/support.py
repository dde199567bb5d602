"""Counts of the database for a support file, without names and texts."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from shared.store.tables.journal import JournalEvent, TraceStep
from shared.store.tables.ledger import DocumentLink, Misattributed, NoteLink, TaskTimeLink, TicketIssueLink
from shared.store.tables.types import is_on_postgresql


class Support:
    """Counts rows within one transaction.

    Args:
        session: the transaction.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def events(self) -> list[tuple[str, str, str | None, int]]:
        """Return the number of events of each kind, state and code."""
        columns = (JournalEvent.event, JournalEvent.state, JournalEvent.code)
        rows = self._session.execute(select(*columns, func.count()).group_by(*columns))
        return [(kind, state, code, count) for kind, state, code, count in rows]

    def ledger(self) -> dict[str, dict[str, int]]:
        """Return how many rows of the ledger are in each state, and how many have a wrong author."""
        found: dict[str, dict[str, int]] = {}
        tables = (
            ("issues", TicketIssueLink),
            ("time_entries", TaskTimeLink),
            ("notes", NoteLink),
            ("attachments", DocumentLink),
        )
        for name, model in tables:
            counted = select(model.state, func.count()).group_by(model.state)
            found[name] = dict(self._session.execute(counted).all())
        wrong = select(Misattributed.kind, func.count()).group_by(Misattributed.kind)
        found["wrong_authors"] = dict(self._session.execute(wrong).all())
        return found

    def steps(self, limit: int) -> Sequence[TraceStep]:
        """Return the newest steps of all tickets, the newest first."""
        newest = select(TraceStep).order_by(TraceStep.id.desc()).limit(limit)
        return self._session.scalars(newest).all()

    def server(self) -> str:
        """Return the name of the database system and its version."""
        if is_on_postgresql(self._session):
            return f"postgresql {self._session.scalar(text('SHOW server_version'))}"
        return f"sqlite {self._session.scalar(text('SELECT sqlite_version()'))}"
