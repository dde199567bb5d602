"""Searches the tracker for all objects that a row in doubt may have created."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from shared.errors import OutcomeUnknown
from shared.notices.faults import Detail
from shared.notices.kinds import Kind
from shared.tracker.answers import Answer
from shared.tracker.body import LARGEST_ISSUE
from shared.tracker.lists import MOST_PAGES, Listed, additions_in, listed_with_issue
from shared.values.identity import moment_of
from shared.values.ids import is_id
from worker.ticket.context import TicketContext
from worker.ticket.match import Essence, found_essence


async def look_up(
    ctx: TicketContext,
    kind: Kind,
    within: int | None,
    since: datetime,
    sent: Collection[Essence],
    *,
    most_pages: int = MOST_PAGES,
    moved: bool = False,
) -> tuple[list[Listed], timedelta]:
    """Return every object that may be the wanted one, and by how much at least the tracker's clock is ahead of ours.

    A list that grows while it is read hides nothing: new rows only push the wanted row back. Issues are searched for in
    every tracker project, because a person may have moved them since. The notes and attachments of an issue are all
    read with the issue.

    Args:
        ctx: the ticket's context.
        kind: the kind of the object.
        within: tracker project in which an issue was created; issue of a time entry or an addition.
        since: objects that were created earlier are not wanted (database clock).
        sent: the essence of each creation that may be found.
        most_pages: the number of pages after which the search is given up.
        moved: also return issues with other texts that are in other projects now.

    Raises:
        OutcomeUnknown: if the list became shorter while it was read, or is too long.
        TrackerError: as for any call.
    """
    if kind.is_addition:
        return await _additions(ctx, kind, within or 0)
    offset: timedelta | None = None

    async def is_past(rows: list[Listed], answer: Answer) -> bool:
        nonlocal offset
        offset = offset if offset is not None else await _offset(ctx, answer)
        return _is_past(kind, rows, since + offset)

    listed = await ctx.tracker.search(
        kind.path, kind.list_name, _filter(kind, within), enough=is_past, most_pages=most_pages
    )
    if kind is Kind.TICKET:
        created = [await _as_created(ctx, one, within, sent) or (one if moved else None) for one in listed]
        listed = [one for one in created if one]
    return listed, offset or timedelta(0)


def ids_of(listed: Iterable[Mapping[str, Any]]) -> list[int]:
    """Return the ids of tracker objects."""
    return [one["id"] for one in listed if isinstance(one.get("id"), int)]


def _filter(kind: Kind, within: int | None) -> dict[str, str | int]:
    if kind is Kind.TICKET_TASK:
        return {"issue_id": within or 0}
    return {"status_id": "*", "sort": "created_on:desc"}


async def _as_created(
    ctx: TicketContext, row: Listed, within: int | None, sent: Collection[Essence]
) -> Listed | None:
    """Return a listed issue with the tracker project in which it was created, or None if that is another one.

    The issue's journals, which show that, are read only if its text is one that is searched for.
    """
    essence = found_essence(Kind.TICKET, row)
    if essence.place == within:
        return row
    here, issue_id = replace(essence, place=within), row.get("id")
    if not is_id(issue_id) or not any(here.meets(one) for one in sent):
        return None
    return {**row, "project": {"id": within}} if await was_created_in(ctx, issue_id, within) else None


async def was_created_in(ctx: TicketContext, issue_id: int, within: int | None) -> bool:
    """Return whether an issue was created in a tracker project, according to the first move in its journals."""
    journals, _ = await _with_issue(ctx, issue_id, "journals")
    changes = [change for journal in journals for change in _dicts(journal.get("details"))]
    left = [str(change.get("old_value")) for change in changes if change.get("name") == "project_id"]
    return left[:1] == [str(within)]


async def additions_of(ctx: TicketContext, kind: Kind, issue_id: int) -> tuple[list[Listed], Answer]:
    """Return the notes or attachments of an issue, each with its issue, and the answer that contained them.

    Raises:
        OutcomeUnknown: if the answer does not have the list.
        TrackerError: as for any call.
    """
    rows, answer = await _with_issue(ctx, issue_id, kind.list_name)
    return [{**one, "issue": {"id": issue_id}} for one in additions_in(rows, kind)], answer


def see_notes(ctx: TicketContext, issue_id: int, journals: Any) -> None:
    """Remember the newest note among an issue's journals; nothing if they were not read."""
    if isinstance(journals, list):
        notes = additions_in(_dicts(journals), Kind.FOLLOWUP)
        ctx.newest_notes[issue_id] = max(ids_of(notes), default=0)


async def _additions(ctx: TicketContext, kind: Kind, issue_id: int) -> tuple[list[Listed], timedelta]:
    """Do `look_up` for additions; check the key before and after, since without rights it sees no private notes."""
    await ctx.tracker.check_access()
    additions, answer = await additions_of(ctx, kind, issue_id)
    await ctx.tracker.check_access()
    return additions, await _offset(ctx, answer)


async def _with_issue(ctx: TicketContext, issue_id: int, name: str) -> tuple[list[Listed], Answer]:
    """Return a list that is read with an issue, and the answer that contained it."""
    path = f"/issues/{issue_id}.json"
    answer = await ctx.tracker.get(path, {"include": name}, largest=LARGEST_ISSUE)
    rows = listed_with_issue(answer, name)
    if rows is None:
        raise OutcomeUnknown("GET", path, detail=Detail.NO_LIST(name=name))
    return rows, answer


def _dicts(listed: Any) -> list[dict[str, Any]]:
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


async def _offset(ctx: TicketContext, answer: Answer) -> timedelta:
    """Return by how much the tracker's clock is ahead; ours is read last, so a slow answer only widens the search.

    A bare Puma sends no Date header: its clock is assumed to be close to ours.
    """
    if answer.at is None:
        return timedelta(0)
    return answer.at - await ctx.db.change(lambda tx: tx.now())


def _is_past(kind: Kind, rows: list[Listed], since: datetime) -> bool:
    """Return whether the rest of the list is too old: issues are listed newest first, time entries are not."""
    if kind is not Kind.TICKET or not rows:
        return False
    created_on = moment_of(rows[-1].get("created_on"))
    return created_on is not None and created_on < since
