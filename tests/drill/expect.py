"""What must be on the tracker, derived only from the events that the producer answered with 202 (SPEC section 3)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import permutations, product
from typing import Any

from tests.drill.administrator import SUFFIX
from tests.drill.day import PUBLIC_ENTITY
from tests.drill.documents import digest, file_name, why_not_at_once, why_not_once_fetched
from tests.drill.load import Receipt
from tests.drill.people import login_of
from tests.drill.withdrawn import is_withdrawal, was_in_time
from tests.support.bridge import STATUS_MAP
from tests.support.events import DONE, SUPPORT_ENTITY

PROJECTS = {SUPPORT_ENTITY: ("support",), PUBLIC_ENTITY: ("support-public", "support", "support-child")}
"""By entity: its tracker project, and those to which an administrator maps it for a while."""

CLOCK_TOLERANCE = timedelta(minutes=5)
NO_SEQUENCE = -(2**63)

Place = tuple[datetime, int, int]
"""An event's place in time: when it occurred, its sequence, its id in the journal."""
Accepted = tuple[Mapping[str, Any], Receipt]
"""An event that was answered 202."""


@dataclass(frozen=True)
class IssueText:
    """A valid text of an issue, from one snapshot of its ticket."""

    project: str
    subject: str
    description: str
    author: str


@dataclass(frozen=True)
class Entry:
    """A valid time entry, from one Done snapshot of its ticket task."""

    hours: float
    comment: str
    author: str
    day: str | None = None
    """The day of the work; None accepts any day."""


@dataclass(frozen=True)
class Note:
    """The expected note of a follow-up or a solution."""

    text: str
    author: str
    is_private: bool


@dataclass(frozen=True)
class File:
    """The expected attachment of a document."""

    name: str
    size: int
    digest: str
    author: str


@dataclass(frozen=True)
class Unsent:
    """How the event of a document that must not arrive has to end.

    Attributes:
        code: the code of its reason.
        is_fetched: whether the reason shows only after the document is fetched, which requires the ticket's issue.
        is_double: whether another event, which may supersede this one, is about the same document.
    """

    code: str
    is_fetched: bool
    is_double: bool


@dataclass
class TicketExpected:
    """The expected result for one ticket.

    Attributes:
        texts: valid texts of its issue; any snapshot may have been the newest when it was created.
        statuses: valid final tracker statuses: one, unless several events may be the newest.
        tasks: the valid time entries by ticket task id; if empty, the ticket has no issue either.
        notes: the note of each follow-up or solution, by key, if the ticket has an issue.
        files: the attachment of each document, by key, if the ticket has an issue.
        perhaps: keys of notes and files that were withdrawn, perhaps after they were sent, so that they may be missing.
        now_private: keys of notes that became private, perhaps after they were sent, so that they may be public.
        unsent: how each event of a document that must not arrive ends, by event id.
        in_order: pairs of keys: the first addition is earlier, and was accepted before the second was sent.
        undone: ticket tasks whose final state may be other than Done; their time may be logged or not.
    """

    ticket_id: int
    texts: set[IssueText] = field(default_factory=set)
    statuses: set[int] = field(default_factory=set)
    tasks: dict[int, set[Entry]] = field(default_factory=dict)
    undone: set[int] = field(default_factory=set)
    notes: dict[str, Note] = field(default_factory=dict)
    files: dict[str, File] = field(default_factory=dict)
    perhaps: set[str] = field(default_factory=set)
    now_private: set[str] = field(default_factory=set)
    unsent: dict[int, Unsent] = field(default_factory=dict)
    in_order: list[tuple[str, str]] = field(default_factory=list)

    @property
    def subject(self) -> str:
        """The subject that all its snapshots have."""
        return next(iter(self.texts)).subject


def expect(
    accepted: Iterable[Accepted], redmine: str, files: Mapping[int, bytes] | None = None
) -> dict[int, TicketExpected]:
    """Return the expected result for each ticket of the accepted events, by ticket id.

    Args:
        accepted: the events, each with its receipt.
        redmine: the tracker's version, which decides how it rounds hours.
        files: content of each document in the help desk.
    """
    by_ticket: dict[int, list[Accepted]] = {}
    for event, receipt in accepted:
        by_ticket.setdefault(event["ticket"]["id"], []).append((event, receipt))
    expected = {ticket_id: _of_ticket(ticket_id, found, redmine) for ticket_id, found in by_ticket.items()}
    for ticket_id, one in expected.items():
        _add_documents(one, by_ticket[ticket_id], files or {})
        _withdraw(one, by_ticket[ticket_id])
        one.in_order = list(_in_order(by_ticket[ticket_id])) if one.notes or one.files else []
    return expected


def plain(content: str | None) -> str:
    """Return the drill's simple HTML as text."""
    return re.sub(r"<[^>]+>", "", content or "")


def hours_listed(seconds: int, redmine: str) -> float:
    """Return the hours that the tracker lists for a number of seconds; newer versions round to whole minutes first."""
    if redmine == "5.0":
        return (seconds * 100 + 1800) // 3600 / 100
    minutes = (seconds + 30) // 60
    return (minutes * 100 + 30) // 60 / 100


def _of_ticket(ticket_id: int, accepted: list[Accepted], redmine: str) -> TicketExpected:
    expected = TicketExpected(ticket_id)
    accepted = [one for one in accepted if "title" in one[0]["ticket"]]
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
            if projects and (note := event.get(kind)) and not is_withdrawal(event):
                said = Note(plain(note["content"]), login_of(note["user"]), bool(note.get("is_private")))
                expected.notes[f"{kind}:{note['id']}"] = said
    expected.undone = {task_id for task_id in expected.tasks if _may_be_undone(task_id, accepted)}
    expected.statuses = {STATUS_MAP[status] for status in _newest_statuses(accepted)}
    return expected


def _add_documents(expected: TicketExpected, accepted: list[Accepted], files: Mapping[int, bytes]) -> None:
    """Add each document of a ticket: its attachment, or how its event must end."""
    own = [
        (event["document"], event["ticket"], receipt)
        for event, receipt in accepted
        if event["event"] == "document.added"
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


def _withdraw(expected: TicketExpected, accepted: list[Accepted]) -> None:
    """Leave out what was deleted before it could be sent, and make private what became private by then."""
    for event, receipt in accepted:
        if not is_withdrawal(event):
            continue
        part, _, verb = event["event"].partition(".")
        key = f"{part}:{event[part]['id']}"
        in_time = was_in_time(key, receipt, accepted)
        if verb == "deleted" and in_time:
            expected.notes.pop(key, None)
            expected.files.pop(key, None)
        elif verb == "deleted":
            expected.perhaps.add(key)
        elif key in expected.notes:
            expected.notes[key] = replace(expected.notes[key], is_private=True)
            expected.now_private |= set() if in_time else {key}


def _entries(ticket_id: int, task: Mapping[str, Any], redmine: str) -> set[Entry]:
    """Return the valid time entries of a snapshot, with an active template and without."""
    comment = plain(task["content"]) or f"Work on helpdesk ticket #{ticket_id}"
    hours, author = hours_listed(task["actiontime"], redmine), login_of(task["user"])
    return {Entry(hours, one, author, task.get("date")) for one in (comment, comment + SUFFIX)}


def _may_be_undone(task_id: int, accepted: list[Accepted]) -> bool:
    """Tell whether the newest event of a ticket task, or one that may be the newest, is not Done or has no time."""
    own = [(event, receipt) for event, receipt in accepted if (event.get("task") or {}).get("id") == task_id]
    places = [(event["task"], *_places(event, receipt)) for event, receipt in own]
    surely = max(earliest for _, earliest, _ in places)
    return any(
        latest >= surely and not (task["state"] == DONE and task["actiontime"] > 0)
        for task, _, latest in places
    )


def _in_order(accepted: list[Accepted]) -> Iterator[tuple[str, str]]:
    """Yield pairs that must be sent in order: the first is earlier and was accepted before the second was sent.

    What has two events is left out, since either event may count.
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
    """Return the status of the newest event, or of each possible one if clocks ahead of time were clamped."""
    places = [(event["ticket"]["status"], *_places(event, receipt)) for event, receipt in accepted]
    surely = max(earliest for _, earliest, _ in places)
    return {status for status, _, latest in places if latest >= surely}


def _places(event: Mapping[str, Any], receipt: Receipt) -> tuple[Place, Place]:
    """Return an event's earliest and latest possible place; times are clamped to five minutes after its arrival."""
    occurred = datetime.fromisoformat(event["occurred_at"])
    sequence, number = event.get("sequence", NO_SEQUENCE), receipt.event_id or 0
    came, accepted = receipt.first_try, receipt.accepted or receipt.first_try
    return (
        (min(occurred, came + CLOCK_TOLERANCE), sequence, number),
        (min(occurred, accepted + CLOCK_TOLERANCE), sequence, number),
    )
