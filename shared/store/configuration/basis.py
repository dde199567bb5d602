"""The settings version: it counts changes of Redmine settings, mappings, people, metadata and templates."""

from __future__ import annotations

from typing import cast

from sqlalchemy import Table, event, func, select
from sqlalchemy.orm import Session

from shared.store.tables.configuration import Basis
from shared.store.tables.types import insert_for

THE_ROW = 1
BASIS = cast(Table, Basis.__table__)
NOTED = "basis_changes"

CHANGES = select(func.coalesce(func.max(BASIS.c.changes), 0)).scalar_subquery()
"""Number of committed changes. Reading it does not wait for open transactions."""


def note_change(session: Session) -> None:
    """Count a change once per transaction, right before the commit, so that others wait for the row only briefly."""
    if not session.info.get(NOTED):
        session.info[NOTED] = True
        event.listen(session, "before_commit", _count, once=True)


def _count(session: Session) -> None:
    one_more = {"changes": BASIS.c.changes + 1}
    counting = insert_for(session)(BASIS).values(id=THE_ROW, changes=1)
    session.execute(counting.on_conflict_do_update(index_elements=[BASIS.c.id], set_=one_more))
