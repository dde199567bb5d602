"""Who changed what: one record for pages, API and command line, written in the change's own transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from shared.codes.notice import Notice, notice_json
from shared.store.tables.configuration import ChangeRecord
from shared.store.tables.types import clock, delete_oldest

NOBODY = "deskbridge"
_who: ContextVar[str] = ContextVar("who", default=NOBODY)


@contextmanager
def acting(who: str) -> Iterator[None]:
    """Name who is responsible for what is done within the block, by this thread and those it asks."""
    before = _who.set(who)
    try:
        yield
    finally:
        _who.reset(before)


def whoever() -> str:
    """Return who is responsible for what is being done."""
    return _who.get()


class Changes:
    """Writes and reads the record within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def note(self, what: Notice, *, before: Any = None, after: Any = None) -> int:
        """Record a change; return its number.

        Args:
            what: what was done.
            before: what it was, as plain JSON.
            after: what it is now.
        """
        row = {"at": clock(), "who": whoever(), **notice_json(what)}
        made = insert(ChangeRecord).values(**row, before=before, after=after).returning(ChangeRecord.id)
        return self._session.execute(made).scalar_one()

    def get(self, change_id: int) -> ChangeRecord | None:
        return self._session.get(ChangeRecord, change_id)

    def find(
        self, *, limit: int, older_than: int | None = None, code: str | None = None, who: str | None = None
    ) -> Sequence[ChangeRecord]:
        """Return changes, newest first."""
        statement = select(ChangeRecord).order_by(ChangeRecord.id.desc()).limit(limit)
        if older_than is not None:
            statement = statement.where(ChangeRecord.id < older_than)
        if code:
            statement = statement.where(ChangeRecord.code == code)
        if who:
            statement = statement.where(ChangeRecord.who == who)
        return self._session.scalars(statement).all()

    def prune(self, older_than_days: float, limit: int) -> int:
        """Delete what is past its time; return how many (at most `limit`)."""
        return delete_oldest(self._session, ChangeRecord.at, older_than_days, limit)
