"""The help desk's day, drawn from the seed: tickets, their events, and when and how often each is delivered."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.drill.documents import draw_document
from tests.drill.people import HELPDESK
from tests.drill.profiles import Profile
from tests.drill.withdrawn import withdrawals
from tests.support.events import ALICE, DONE, SUPPORT_ENTITY, moment, task, ticket

STATUSES = (1, 2, 5, 6)
SECONDS_WORKED = (900, 1800, 5400, 1234, 29, 5430)
SECONDS_ALIKE = (1800, 5430, 5460)
"""Durations of ticket tasks without a text; which of them look equal depends on the tracker's version."""
PUBLIC_ENTITY, UNLINKED_ENTITY = 4, 99
MOST_AT_ONCE = 5
LATEST_COPY_S = 20.0
FUTURE = "2090-01-01T00:00:00Z"
SIBLINGS = 3


@dataclass(frozen=True)
class Posting:
    """One request of the help desk: events, each with its `delivery_id`, due `at` seconds after the start."""

    at: float
    webhook_id: str
    events: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Case:
    """The characteristics of one ticket.

    Attributes:
        title: its title, which is the same for siblings.
        content: its text.
        entity_id: the help desk entity.
        begins: seconds after the start at which its first event is due.
        lasts: seconds over which its events are spread.
        mortal: whether its issue may be deleted on the tracker.
        finishes: whether one of its ticket tasks becomes Done.
        ahead: how many of its events are dated by a clock that is years ahead.
    """

    ticket_id: int
    title: str
    content: str
    entity_id: int
    begins: float
    lasts: float
    mortal: bool
    finishes: bool
    ahead: int


@dataclass(frozen=True)
class Day:
    """Everything that the help desk is going to send.

    Attributes:
        postings: its requests, in the order in which they are due.
        events: its events, by delivery id.
        mortal: tickets whose issue may be deleted on the tracker.
        files: content of each document in the help desk; a missing document was deleted there.
    """

    postings: list[Posting]
    events: dict[str, dict[str, Any]]
    mortal: set[int] = field(default_factory=set)
    files: dict[int, bytes] = field(default_factory=dict)


def make_day(seed: int, profile: Profile) -> Day:
    """Return the day of a seed; the same seed and profile return the same day."""
    chance = random.Random(f"day {seed} {profile.name}")
    cases = [_case(chance, profile, ticket_id) for ticket_id in range(1, profile.tickets + 1)]
    files: dict[int, bytes] = {}
    added = {one.ticket_id: [*_notes(chance, one), *_documents(chance, one, files)] for one in cases}
    for of_ticket in added.values():
        of_ticket += withdrawals(seed, of_ticket, files)
    others = profile.events - sum(map(len, added.values()))
    events: dict[str, dict[str, Any]] = {}
    due: list[tuple[float, str]] = []
    for case in cases:
        wanted = max(2, round(chance.gauss(others / profile.tickets, 2)))
        for number, event in enumerate([*_events(chance, case, wanted), *added[case.ticket_id]]):
            delivery_id = f"drill-{seed}-{case.ticket_id}-{number}"
            events[delivery_id] = event
            at = case.begins + chance.random() * case.lasts
            for _ in range(chance.choice((1, 2, 3))):
                due.append((min(at, profile.seconds), delivery_id))
                at += chance.random() * LATEST_COPY_S
    mortal = {case.ticket_id for case in cases if case.mortal}
    return Day(list(_postings(chance, seed, sorted(due), events)), events, mortal, files)


def _case(chance: random.Random, profile: Profile, ticket_id: int) -> Case:
    group = ticket_id // SIBLINGS
    alike = group % 5 == 0
    kind = chance.random()
    entity = SUPPORT_ENTITY
    if not alike:
        entity = UNLINKED_ENTITY if kind < 0.03 else PUBLIC_ENTITY if kind < 0.15 else SUPPORT_ENTITY
    begins = chance.random() * profile.seconds * 0.8
    if alike:  # siblings begin together, so that their issues are created at the same time
        begins = random.Random(f"{group} {profile.name}").random() * profile.seconds * 0.8
    return Case(
        ticket_id,
        title=f"Same printer {group}" if alike else f"Ticket {ticket_id}",
        content="<p>It <b>burns</b></p>" if alike else f"<p>Fire in room {ticket_id}</p>",
        entity_id=entity,
        begins=begins,
        lasts=min(60.0, profile.seconds - begins),
        mortal=not alike and ticket_id % 10 == 1,
        finishes=alike or chance.random() < 0.93,
        ahead=chance.choice((1, 2)) if chance.random() < 0.06 else 0,
    )


def _events(chance: random.Random, case: Case, wanted: int) -> Iterator[dict[str, Any]]:
    done = False
    for number in range(wanted):
        is_last = number == wanted - 1
        event: dict[str, Any] = {
            "event": "ticket.updated",
            "occurred_at": moment(number // 2),
            "ticket": _snapshot(chance, case),
        }
        event["sequence"] = number
        if number >= wanted - case.ahead:
            event["occurred_at"] = FUTURE
            del event["sequence"]
        must_finish = is_last and not done and case.finishes
        if must_finish or chance.random() < 0.65:
            event["event"] = chance.choice(("ticket_task.added", "ticket_task.updated"))
            event["task"] = _task(chance, case, finish=must_finish)
            done |= event["task"]["state"] == DONE and event["task"]["actiontime"] > 0
        yield event


def _notes(chance: random.Random, case: Case) -> Iterator[dict[str, Any]]:
    """Yield follow-ups and solutions of a ticket; some share a text, some are private."""
    for number in range(chance.choice((0, 0, 1, 2, 4))):
        kind, note_id = chance.choice(("followup", "followup", "solution")), case.ticket_id * 10 + number
        text = "<p>Seen</p>" if chance.random() < 0.4 else f"<p>Note {note_id} of {case.ticket_id}</p>"
        note = {"id": note_id, "content": text, "user": chance.choice(HELPDESK)}
        if kind == "followup":
            note["is_private"] = chance.random() < 0.3
        yield {
            "event": f"{kind}.added",
            "occurred_at": moment(number),
            "sequence": 1000 + number,
            "ticket": _snapshot(chance, case),
            kind: note,
        }


def _documents(chance: random.Random, case: Case, files: dict[int, bytes]) -> Iterator[dict[str, Any]]:
    """Yield documents attached to a ticket, to an older follow-up or to both; add their content to `files`."""
    on_ticket, on_followup = ("Ticket", case.ticket_id), ("ITILFollowup", case.ticket_id * 10 + 9)
    for number in range(chance.choice((0, 0, 1, 1, 2, 3))):
        document, content = draw_document(chance, case.ticket_id * 10 + number)
        if content is not None:
            files[document["id"]] = content
        document["user"] = chance.choice(HELPDESK)
        for kind, item_id in chance.choice(
            ((on_ticket,), (on_ticket,), (on_followup,), (on_ticket, on_followup))
        ):
            yield {
                "event": "document.added",
                "occurred_at": moment(number),
                "sequence": 2000 + number,
                "ticket": _snapshot(chance, case),
                "document": {**document, "item": {"type": kind, "id": item_id}},
            }


def _snapshot(chance: random.Random, case: Case) -> dict[str, Any]:
    """Return a ticket with a random status and technician."""
    return ticket(
        case.ticket_id,
        title=case.title,
        content=case.content,
        status=chance.choice(STATUSES),
        entity_id=case.entity_id,
        technician=chance.choice(HELPDESK),
    )


def _day(task_id: int) -> str:
    """Return the day of a ticket task's work, which is never the day of the drill."""
    return f"2026-01-{task_id % 28 + 1:02}"


def _task(chance: random.Random, case: Case, *, finish: bool) -> dict[str, Any]:
    """Return a ticket task: a unique one, or one without a text, which may look equal to another."""
    number = chance.randrange(5)
    task_id = case.ticket_id * 1000 + number
    state = DONE if case.finishes and (finish or chance.random() < 0.6) else 1
    if number < 3:
        seconds = chance.choice(SECONDS_WORKED) if finish or chance.random() < 0.95 else 0
        content = f"<p>Task {task_id}, {chance.choice(('extinguished', 'repaired'))}</p>"
        user = chance.choice(HELPDESK)
        return task(task_id, content=content, state=state, actiontime=seconds, user=user, date=_day(task_id))
    seconds = chance.choice(SECONDS_ALIKE)
    return task(task_id, content=None, state=state, actiontime=seconds, user=ALICE)


def _postings(
    chance: random.Random, seed: int, due: list[tuple[float, str]], events: dict[str, dict[str, Any]]
) -> Iterator[Posting]:
    start = 0
    while start < len(due):
        several = due[start : start + chance.randint(1, MOST_AT_ONCE)]
        names = list(dict.fromkeys(delivery_id for _, delivery_id in several))
        yield Posting(
            at=several[0][0],
            webhook_id=f"posting-{seed}-{start}",
            events=tuple({**events[name], "delivery_id": name} for name in names),
        )
        start += len(several)
