"""Failures grouped by cause: the reasons of one cause differ at most in the numbers within the request path."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from shared.notices.notice import Notice
from shared.store.journal.journal_queries import UNREADABLE
from shared.store.tables.explained import reason_from_columns
from shared.store.tables.journal import EventState, JournalEvent

NUMBER = re.compile(r"\d+")
NEWEST = 1000


@dataclass(frozen=True, slots=True)
class FailureCause:
    """A cause of failures.

    Attributes:
        cause: its identifier in the console's addresses.
        notice: the reason of its newest failure.
    """

    cause: str
    notice: Notice
    count: int


def cause_of(code: str | None, params: Any) -> str:
    """Return the identifier of a cause, computed from the stored reason of one of its failures."""
    if isinstance(params, dict):
        path = params.get("path")
        params = {**params, "path": NUMBER.sub("N", path)} if isinstance(path, str) else params
    same = json.dumps([code, params], sort_keys=True)
    return hashlib.sha256(same.encode()).hexdigest()[:16]


def failure_causes(session: Session) -> list[FailureCause]:
    """Return the causes of the newest failures, most frequent first.

    Unreadable deliveries are left out.

    Args:
        session: the transaction.
    """
    columns = (JournalEvent.code, JournalEvent.params)
    failed = and_(JournalEvent.state == EventState.FAILED, JournalEvent.key != UNREADABLE)
    newest = select(*columns).where(failed).order_by(JournalEvent.id.desc()).limit(NEWEST)
    found: dict[str, FailureCause] = {}
    for code, params in session.execute(newest):
        notice = reason_from_columns(code, params)
        if notice is None:
            continue
        cause = cause_of(code, params)
        known = found.get(cause)
        found[cause] = replace(known, count=known.count + 1) if known else FailureCause(cause, notice, 1)
    return sorted(found.values(), key=lambda one: -one.count)
