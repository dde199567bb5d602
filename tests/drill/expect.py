"""What must be on the tracker: from nothing but the events that the producer answered 202 to (SPEC section 3)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import permutations, product
from typing import Any

from tests.drill.administrator import SUFFIX
from tests.drill.day import PUBLIC_ENTITY
from tests.drill.documents import digest, file_name, why_not_at_once, why_not_once_fetched
from tests.drill.load import Receipt
from tests.drill.people import login_of
from tests.support.bridge import STATUS_MAP
from tests.support.events import DONE, SUPPORT_ENTITY

PROJECTS = {SUPPORT_ENTITY: ("support",), PUBLIC_ENTITY: ("support-public", "support", "support-child")}
"""By entity: its tracker project, and those that an administrator links it to for a while."""

CLOCK_TOLERANCE = timedelta(minutes=5)
NO_SEQUENCE = -(2**63)

Place = tuple[datetime, int, int]
"""An event's place in time: when it occurred, its sequence, its number in the journal."""
Accepted = tuple[Mapping[str, Any], Receipt]
"""An event that was answered 202."""


@dataclass(frozen=True)
class IssueText:
    """What an issue may look like: one snapshot of its ticket."""

    project: str
    subject: str
    description: str
    author: str


@dataclass(frozen=True)
class Entry:
    """What a time entry may look like: one Done snapshot of its ticket task."""

    hours: float
    comment: str
    author: str
    day: str | None = None
    """The day of the work; None: whichever day it was logged on."""


@dataclass(frozen=True)
class Note:
    """What the note of a follow-up or a solution looks like."""

    text: str
    author: str
    is_private: bool


@dataclass(frozen=True)
class File:
    """What the attachment of a document looks like."""

    name: str
    size: int
    digest: str
    author: str


@dataclass(frozen=True)
class Unsent:
    """How the event of a document that must not arrive ends.

    Attributes:
        code: of its reason.
        is_fetched: whether this shows only when the document is fetched, for which the ticket needs its issue.
        is_double: whether another event is about the same document, which may be the one that counts.
    """

    code: str
    is_fetched: bool
    is_double: bool


@dataclass
class TicketExpected:
    """What must become of one ticket.

    Attributes:
        texts: what its issue may look like; any snapshot may have been the newest when it was created.
        statuses: tracker statuses that it may end with: one, unless several events were the newest at the same time.
        tasks: ticket-task id to what its one time entry may look like; empty: no issue either.
        notes: follow-up or solution, by its key, to its one note, if the ticket has an issue.
        files: document, by its key, to its one attachment, if the ticket has an issue.
        unsent: event of a document that must not arrive to how it ends.
        in_order: pairs of these: the first is earlier, and was accepted before the second was sent.
        undone: ticket tasks that may be not Done at last: logged if they were sent before, else not.
    """

    ticket_id: int
    texts: set[IssueText] = field(default_factory=set)
    statuses: set[int] = field(default_factory=set)
    tasks: dict[int, set[Entry]] = field(default_factory=dict)
    undone: set[int] = field(default_factory=set)
    notes: dict[str, Note] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)
    unsent: dict[int, Unsent] = field(default_factory=dict)
    in_order: list[tuple[str, str]] = field(default_factory=list)

    @property
    def subject(self) -> str:
        """The subject that all its snapshots have."""
        return next(iter(self.texts)).subject


def expect(
    accepted: Iterable[Accepted], redmine: str, files: Mapping[int, bytes] | None = None
) -> dict[int, TicketExpected]:
    """Return what must become of the tickets of events that were answered 202, by ticket id.

    Args:
        accepted: the events, each with its receipt.
        redmine: the tracker's version, which decides how it rounds hours.
        files: what the helpdesk has of each document.
    """
    by_ticket: dict[int, list[Accepted]] = {}
    for event, receipt in accepted:
        by_ticket.setdefault(event["ticket"]["id"], []).append((event, receipt))
    expected = {ticket_id: _of_ticket(ticket_id, found, redmine) for ticket_id, found in by_ticket.items()}
    for ticket_id, one in expected.items():
        _add_documents(one, by_ticket[ticket_id], files or {})
        one.in_order = list(_in_order(by_ticket[ticket_id])) if one.notes or one.files else []
    return expected


def plain(content: str | None) -> str:
    """Return the drill's simple HTML as text."""
    return re.sub(r"<[^>]+>", "", content or "")


def hours_listed(seconds: int, redmine: str) -> float:
    """Return the hours that the tracker lists for so many seconds: hundredths of them or of whole minutes."""
    if redmine == "5.0":
        return (seconds * 100 + 1800) // 3600 / 100
    minutes = (seconds + 30) // 60
    return (minutes * 100 + 30) // 60 / 100


def _of_ticket(ticket_id: int, accepted: list[Accepted], redmine: str) -> TicketExpected:
    expected = TicketExpected(ticket_id)
    for event, _ in accepted:
        snapshot, task = event["ticket"], event.get("task")
        projects = PROJECTS.get(snapshot["entity_id"], ())
        author, content = login_of(snapshot["technician"]), plain(snapshot["content"])
        expected.texts |= {
            IssueText(project, snapshot["title"], text, author)
            for project, text in product(projects, (content, content + SUFFIX))
        }
        if projects and task and task["state"] == DONE and task["actiontime"] > 0:
            expected.tasks.setdefault(task["id"], set()).update(_entries(ticket_id, task, redmine))
        for kind in ("followup", "solution"):
            if projects and (note := event.get(kind)):
                said = Note(plain(note["content"]), login_of(note["user"]), bool(note.get("is_private")))
                expected.notes[f"{kind}:{note['id']}"] = said
    expected.undone = {task_id for task_id in expected.tasks if _may_be_undone(task_id, accepted)}
    expected.statuses = {STATUS_MAP[status] for status in _newest_statuses(accepted)}
    return expected


def _add_documents(expected: TicketExpected, accepted: list[Accepted], files: Mapping[int, bytes]) -> None:
    """Say of each document of a ticket what must arrive of it, or how its events end."""
    own = [
        (event["document"], event["ticket"], receipt) for event, receipt in accepted if "document" in event
    ]
    times = Counter(document["id"] for document, _, _ in own)
    for document, snapshot, receipt in own:
        document_id, content = document["id"], files.get(document["id"])
        at_once = why_not_at_once(document)
        because = at_once or why_not_once_fetched(content)
        if because:
            ends = Unsent(because, is_fetched=at_once is None, is_double=times[document_id] > 1)
            expected.unsent[receipt.event_id or 0] = ends
        elif snapshot["entity_id"] in PROJECTS and content:
            author = login_of(document["user"])
            file = File(file_name(document), len(content), digest(content), author)
            expected.files[f"document:{document_id}"] = file


def _entries(ticket_id: int, task: Mapping[str, Any], redmine: str) -> set[Entry]:
    """Return what a snapshot's time entry may look like: with a template in force, and without."""
    comment = plain(task["content"]) or f"Work on helpdesk ticket #{ticket_id}"
    hours, author = hours_listed(task["actiontime"], redmine), login_of(task["user"])
    return {Entry(hours, one, author, task.get("date")) for one in (comment, comment + SUFFIX)}


def _may_be_undone(task_id: int, accepted: list[Accepted]) -> bool:
    """Tell whether the newest event of a ticket task, or one that may be it, says that it is not Done."""
    own = [(event, receipt) for event, receipt in accepted if (event.get("task") or {}).get("id") == task_id]
    places = [(event["task"], *_places(event, receipt)) for event, receipt in own]
    surely = max(earliest for _, earliest, _ in places)
    return any(
        latest >= surely and not (task["state"] == DONE and task["actiontime"] > 0)
        for task, _, latest in places
    )


def _in_order(accepted: list[Accepted]) -> Iterator[tuple[str, str]]:
    """Yield what must be sent in order: the first was known, and earlier, when the second came.

    A document of two events is left out: either of them may be the one that counts.
    """
    added = [
        (f"{kind}:{event[kind]['id']}", receipt, *_places(event, receipt))
        for event, receipt in accepted
        for kind in ("followup", "solution", "document")
        if kind in event
    ]
    times = Counter(key for key, *_ in added)
    once = [one for one in added if times[one[0]] == 1]
    for (one, first, _, latest), (other, second, earliest, _) in permutations(once, 2):
        if latest < earliest and first.accepted is not None and first.accepted < second.first_try:
            yield one, other


def _newest_statuses(accepted: list[Accepted]) -> set[int]:
    """Return the status of the newest event; of each that may be, where clocks ahead of time were clamped."""
    places = [(event["ticket"]["status"], *_places(event, receipt)) for event, receipt in accepted]
    surely = max(earliest for _, earliest, _ in places)
    return {status for status, _, latest in places if latest >= surely}


def _places(event: Mapping[str, Any], receipt: Receipt) -> tuple[Place, Place]:
    """Return the earliest and the latest place that an event can have: clamped to five minutes after it came."""
    occurred = datetime.fromisoformat(event["occurred_at"])
    sequence, number = event.get("sequence", NO_SEQUENCE), receipt.event_id or 0
    came, accepted = receipt.first_try, receipt.accepted or receipt.first_try
    return (
        (min(occurred, came + CLOCK_TOLERANCE), sequence, number),
        (min(occurred, accepted + CLOCK_TOLERANCE), sequence, number),
    )
