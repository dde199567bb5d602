"""The journal as people see it: events that came in, and what became of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from producer.admin.presenters.moments import stamp
from producer.admin.presenters.shapes import EventAbout, Shape
from producer.admin.presenters.spreadsheets import csv_line
from producer.admin.presenters.waiting import with_reasons
from producer.admin.records.event_search import LOOKED_THROUGH, MOST_COUNTED, EventSearch, Group, Wanted
from producer.admin.records.event_subjects import Subject
from producer.admin.records.transaction import Store, Transaction
from producer.admin.services import Services
from shared.events.event import DeletionName, EventName
from shared.notices.notice import Notice
from shared.store.tables.journal import EventState, JournalEvent
from shared.values.validation import Id

EventKind = Literal[EventName, DeletionName, "unreadable"]
KINDS: tuple[str, ...] = get_args(EventKind)
Last = Literal["hour", "day", "week"]
LAST = {name: timedelta(**{f"{name}s": 1}) for name in get_args(Last)}
"""The time spans that filters name."""

AT_ONCE = 500
LONGEST, LONGEST_CODE = 200, 64
"""Most characters of a filter's words, and of its code."""
COLUMNS = (
    "id", "received_at", "state", "event", "ticket_id", "title", "task_id", "who", "issue_id", "code", "reason",
    "occurred_at", "attempts", "key",
)  # fmt: skip


class EventFilter(BaseModel):
    """A person's filter for events, the same for the command line, the API and the pages."""

    model_config = ConfigDict(frozen=True)

    state: EventState | None = Field(default=None, description="Only events in this state.")
    ticket: Id | None = Field(default=None, description="Only events of this ticket.")
    kind: EventKind | None = Field(default=None, description="Only events of this kind.")
    person: str = Field(
        default="",
        max_length=LONGEST,
        description="A user in the event: GLPI id, or part of the e-mail or name.",
    )
    place: str = Field(
        default="",
        max_length=LONGEST,
        description="The ticket's entity or project: `entity:77`, `project:9`, or part of a name.",
    )
    cause: str = Field(default="", max_length=LONGEST_CODE, description="The code of the reason.")
    last: Last | None = Field(default=None, description="Received within this time.")
    since: AwareDatetime | None = Field(default=None, description="Received at this time or later.")
    until: AwareDatetime | None = Field(default=None, description="Received at this time or earlier.")

    def wanted(self, *, event_id: int | None = None, upto: int | None = None) -> Wanted:
        """Return the filter for the journal; if `since` and `last` are both set, the later time applies.

        Args:
            event_id: only this event.
            upto: only events with this id or a lower one.
        """
        began = datetime.now(UTC) - LAST[self.last] if self.last else None
        moments = [one for one in (self.since, began) if one]
        return Wanted(
            state=self.state,
            kind=self.kind,
            ticket_id=self.ticket,
            cause=self.cause or None,
            person=self.person or None,
            place=self.place or None,
            since=max(moments, default=None),
            until=self.until,
            upto=upto,
            event_id=event_id,
        )


@dataclass(frozen=True, slots=True)
class EventPage:
    """A page of the matching events.

    Attributes:
        rows: newest first.
        newest: id of the newest matching event, 0 if none matches.
        matching: number of matching events, as far as they are counted.
        groups: all failed events by cause.
        subjects: the subject of each row, by its id.
        newer: the previous page ends above this id; None: there is none.
        older: the next page begins below this id; None: there is none.
        looked: first and last id of the events that were searched; None: all were.
    """

    rows: Sequence[JournalEvent]
    newest: int
    matching: int
    groups: Sequence[Group]
    subjects: Mapping[int, Subject]
    newer: int | None
    older: int | None
    looked: tuple[int, int] | None = None

    @property
    def has_newer(self) -> bool:
        """Whether there may be matching events before the rows."""
        return self.newer is not None

    @property
    def has_older(self) -> bool:
        """Whether there may be matching events after the rows."""
        return self.older is not None


def latest_events(
    services: Services, wanted: Wanted, *, limit: int, below: int | None = None
) -> list[tuple[JournalEvent, Notice | None, Subject]]:
    """Return the matching events, newest first, each with its reason and its subject."""
    with services.store.transaction() as tx:
        rows = tx.events.page(wanted, limit=limit, below=below)
        subjects = tx.event_subjects.of(rows)
    return [(row, why, subjects[row.id]) for row, why in with_reasons(rows, services.redis)]


def event_about(row: JournalEvent, why: Notice | None, subject: Subject) -> EventAbout:
    """Return an event as the API has it, with its reason and its subject."""
    return EventAbout.of(row, why, title=subject.title, who=subject.who, issue_id=subject.issue_id)


def waiting_tickets(store: Store, helpdesk_user_id: int) -> int:
    """Return how many tickets have a pending event that names a person."""
    with store.transaction() as tx:
        return tx.events.tickets(Wanted(state=EventState.PENDING, person=str(helpdesk_user_id)))


def recent_events(store: Store, most: int) -> Sequence[JournalEvent]:
    """Return the newest events, without their payloads."""
    with store.transaction() as tx:
        return tx.events.page(Wanted(), limit=most)


def event_page(store: Store, wanted: Wanted, *, size: int, below: int | None, above: int | None) -> EventPage:
    """Return a page of the matching events; if no index finds them, search only LOOKED_THROUGH events.

    Args:
        store: where the journal is.
        wanted: the filter.
        size: how many events.
        below: the page begins below this id.
        above: it ends right above this one.
    """
    with store.transaction() as tx:
        if tx.events.needs_scan(wanted):
            first, last = tx.events.ends()
            if last - first >= LOOKED_THROUGH:
                return _page_of_some(tx, wanted, (first, last), size=size, below=below, above=above)
        rows, newest, matching = _found(tx.events, wanted, size=size, below=below, above=above)
        groups = tx.events.groups()
        more = len(rows) > size
        rows = (rows[-size:] if above is not None else rows[:size]) if more else rows
        subjects = tx.event_subjects.of(rows)
    older = rows[-1].id if rows and (more or above is not None) else None
    newer = rows[0].id if rows and rows[0].id < newest else None
    return EventPage(rows, newest, matching, groups, subjects, newer, older)


def _page_of_some(
    tx: Transaction,
    wanted: Wanted,
    ends: tuple[int, int],
    *,
    size: int,
    below: int | None,
    above: int | None,
) -> EventPage:
    """Return a page of the matches among LOOKED_THROUGH events: the newest, those below an id, or those above one.

    Args:
        tx: the transaction.
        wanted: the filter.
        ends: the lowest id and the highest of all events.
        size: how many events.
        below: the page begins below this id.
        above: it ends right above this one.
    """
    (first, last), search = ends, tx.events
    upper = min(last, last if below is None else below - 1, last if above is None else above + LOOKED_THROUGH)
    over = max(upper - LOOKED_THROUGH, first - 1) if above is None else above
    some = replace(wanted, over=over, upto=upper)
    ids = search.ids(some)
    if above is None:
        rows = list(search.of_ids(ids[:size]))
        newer = upper if upper < last else None
        older = rows[-1].id if len(ids) > size else over + 1 if over >= first else None
    else:
        rows = list(search.page(some, limit=size, above=above))
        newer = rows[0].id if len(ids) > size else upper if upper < last else None
        older = above + 1
    subjects = tx.event_subjects.of(rows)
    return EventPage(
        rows, next(iter(ids), 0), len(ids), search.groups(), subjects, newer, older, (over + 1, upper)
    )


def _found(
    search: EventSearch, wanted: Wanted, *, size: int, below: int | None, above: int | None
) -> tuple[list[JournalEvent], int, int]:
    """Return the rows of a page and one more, the id of the newest match, and the number of matches.

    The people of an event are only in its payload, so payloads are read once for all three results.
    """
    if wanted.person and above is None:
        ids = search.ids(wanted)
        some = [one for one in ids if below is None or one < below][: size + 1]
        if len(some) > size or len(ids) < MOST_COUNTED:
            return list(search.of_ids(some)), next(iter(ids), 0), len(ids)
    rows = list(search.page(wanted, limit=size + 1, below=below, above=above))
    is_first = below is None and above is None
    newest = rows[:1] if is_first else search.page(wanted, limit=1)
    return rows, next((row.id for row in newest), 0), search.count(wanted)


def exported_events(services: Services, wanted: Wanted) -> Iterator[list[Shape]]:
    """Yield the matching events in batches, newest first, each as in the API and with its subject.

    Args:
        services: the collaborators.
        wanted: the filter.
    """
    below: int | None = None
    while found := latest_events(services, wanted, limit=AT_ONCE, below=below):
        yield [event_about(*one).printed() for one in found]
        below = found[-1][0].id


def events_csv(services: Services, wanted: Wanted) -> Iterator[str]:
    """Yield the events that match as lines of CSV."""
    yield csv_line(COLUMNS)
    for some in exported_events(services, wanted):
        yield "".join(csv_line([_cell(one[name]) for name in COLUMNS]) for one in some)


def events_json(services: Services, wanted: Wanted) -> Iterator[str]:
    """Yield the events that match as one JSON array."""
    before = "["
    for some in exported_events(services, wanted):
        for one in some:
            yield f"{before}{json.dumps(one, default=stamp, ensure_ascii=False)}"
            before = ",\n"
    yield "[]" if before == "[" else "]\n"


def _cell(value: Any) -> object:
    return stamp(value) if hasattr(value, "astimezone") else value
