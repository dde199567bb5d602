"""The audit log: who changed what by page, API or command line, written in the change's own transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from shared.notices.notice import Notice, notice_json
from shared.store.tables.configuration import ChangeRecord
from shared.store.tables.types import clock, delete_oldest

NOBODY = "deskbridge"
_who: ContextVar[str] = ContextVar("who", default=NOBODY)


@contextmanager
def acting(who: str) -> Iterator[None]:
    """Attribute the block's changes to a person, in this thread and in others that run with its context."""
    before = _who.set(who)
    try:
        yield
    finally:
        _who.reset(before)


def current_person() -> str:
    """Return the name that changes are attributed to."""
    return _who.get()


@dataclass(frozen=True, slots=True)
class WantedChanges:
    """A selection of changes.

    Attributes:
        who: part of the name of the person who made them, case-insensitive; empty matches everyone.
        codes: codes of the actions; empty matches all.
        since, until: period, both ends included.
    """

    who: str = ""
    codes: Collection[str] = ()
    since: datetime | None = None
    until: datetime | None = None


ALL = WantedChanges()


class Changes:
    """Writes and reads the audit log within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def note(self, what: Notice, *, before: Any = None, after: Any = None) -> int:
        """Record a change; return its id.

        Args:
            what: the action.
            before: the old value, as plain JSON.
            after: the new value.
        """
        row = {"at": clock(), "who": current_person(), **notice_json(what)}
        made = insert(ChangeRecord).values(**row, before=before, after=after).returning(ChangeRecord.id)
        return self._session.execute(made).scalar_one()

    def get(self, change_id: int) -> ChangeRecord | None:
        return self._session.get(ChangeRecord, change_id)

    def find(
        self, *, limit: int, older_than: int | None = None, wanted: WantedChanges = ALL
    ) -> Sequence[ChangeRecord]:
        """Return matching changes, newest first."""
        statement = select(ChangeRecord).order_by(ChangeRecord.id.desc()).limit(limit)
        if older_than is not None:
            statement = statement.where(ChangeRecord.id < older_than)
        if wanted.codes:
            statement = statement.where(ChangeRecord.code.in_(wanted.codes))
        if wanted.who:
            name = func.lower(ChangeRecord.who)
            statement = statement.where(name.contains(wanted.who.lower(), autoescape=True))
        if wanted.since:
            statement = statement.where(ChangeRecord.at >= wanted.since)
        if wanted.until:
            statement = statement.where(ChangeRecord.at <= wanted.until)
        return self._session.scalars(statement).all()

    def prune(self, older_than_days: float, limit: int) -> int:
        """Delete changes past their retention; return their number (at most `limit`)."""
        return delete_oldest(self._session, ChangeRecord.at, older_than_days, limit)
