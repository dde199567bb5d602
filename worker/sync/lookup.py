"""Asks the tracker for everything that a row in doubt may have created (DESIGN "The ledger", point 4)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from shared.errors import OutcomeUnknown
from shared.kinds import Kind
from shared.tracker.answers import Answer
from shared.tracker.client import PAGE_SIZE, rows_of
from worker.sync.matching import moment_of
from worker.sync.probes import ask_whether_open
from worker.sync.run import Run

MOST_PAGES = 50


def look_up(
    run: Run, kind: Kind, within: int | None, since: datetime, *, most_pages: int = MOST_PAGES
) -> tuple[list[dict[str, Any]], timedelta]:
    """Return every object that may be the wanted one, and how far the tracker's clock is ahead of ours (at most).

    A list that grows meanwhile hides nothing: what is wanted was there before, and new rows only push it on.

    Args:
        run: the drain.
        kind: issue or time entry.
        within: tracker project of an issue; issue of a time entry.
        since: nothing that was created earlier is wanted (database clock).
        most_pages: give up after so many.

    Raises:
        OutcomeUnknown: the list became shorter while it was read, or was not readable.
        TrackerError: as any call.
    """
    ask_whether_open(run)
    listed: list[dict[str, Any]] = []
    total, offset = None, timedelta(0)
    for page in range(most_pages):
        params = {**_filter(kind, within), "limit": PAGE_SIZE, "offset": page * PAGE_SIZE}
        answer = run.tracker.call("GET", kind.path, params=params, observe=run.observe)
        run.lock.renew()
        rows = rows_of(answer, kind.list_name, kind.path)
        if total is None:
            total, offset = _total(kind, answer), _offset(run, answer)
        elif _total(kind, answer) < total:
            raise OutcomeUnknown("GET", kind.path, detail="the list became shorter while it was read")
        total = _total(kind, answer)
        listed += rows
        if not rows or len(listed) >= total or _is_past(kind, rows, since + offset):
            ask_whether_open(run)  # it may have been closed in between, and the list one for anybody
            return listed, offset
    raise OutcomeUnknown("GET", kind.path, detail=f"more than {most_pages} pages to look through")


def _filter(kind: Kind, within: int | None) -> dict[str, str | int]:
    if kind is Kind.TICKET_TASK:
        return {"issue_id": within or 0}
    return {"project_id": within or 0, "status_id": "*", "sort": "created_on:desc"}


def _total(kind: Kind, answer: Answer) -> int:
    total = answer.data.get("total_count")
    if not isinstance(total, int):
        raise OutcomeUnknown("GET", kind.path, detail="the answer has no total_count")
    return total


def _offset(run: Run, answer: Answer) -> timedelta:
    """Our clock is read after the answer came, so that a slow answer can only widen the search.

    A bare puma sends no Date header: its clock may be anywhere near ours.
    """
    if answer.at is None:
        return timedelta(0)
    with run.store.transaction() as tx:
        return answer.at - tx.now()


def _is_past(kind: Kind, rows: list[dict[str, Any]], since: datetime) -> bool:
    """Issues come newest first, so that the rest of the list is older still; time entries do not."""
    if kind is not Kind.TICKET:
        return False
    created_on = moment_of(rows[-1].get("created_on"))
    return created_on is not None and created_on < since
