"""Subjects of events (their ticket's title, person, place and issue), and searches for events by these.

Payloads and snapshots are ASCII JSON as text (`shared.store.tables.types.Json`). A quote inside a string is escaped, so
`"user": {` can only be a key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Select,
    Text,
    and_,
    collate,
    false,
    func,
    or_,
    select,
    type_coerce,
)
from sqlalchemy.orm import InstrumentedAttribute, Session

from shared.store.tables.configuration import HelpdeskPerson, TrackerUser, UserMap, UserPin
from shared.store.tables.functions import number_in
from shared.store.tables.journal import JournalEvent, TicketState
from shared.store.tables.ledger import LedgerState, TicketIssueLink
from shared.store.tables.types import is_on_postgresql
from shared.values.ids import read_id

ROLES = ("user", "technician", "requester")
"""The keys in which events name people."""

PLACE = re.compile(r"(entity|project)[ :]\s*#?(\d{1,19})")
MOST_PEOPLE = 10
MOST_TITLES = 20
MOST_READ = 1000
PIECE = 600
"""Number of characters of a payload that are read to find the person."""


Within = Sequence[ColumnElement[bool]]
"""Conditions for the events that are searched."""


class Subject(NamedTuple):
    """The subject of an event.

    Attributes:
        title: title of the ticket; empty if it is unknown.
        who: the person who logged the task, else the technician of the ticket; empty if no one is named.
        issue_id: the ticket's issue.
        entity_id: the ticket's entity; None if it is unknown.
    """

    title: str = ""
    who: str = ""
    issue_id: int | None = None
    entity_id: int | None = None


class KnownPerson(NamedTuple):
    """A help desk user, with the data in events and in the tracker's metadata."""

    helpdesk_user_id: int
    email: str
    name: str


class EventSubjects:
    """Looks up the subjects of events within one transaction.

    Args:
        session: the transaction.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def of(self, rows: Sequence[JournalEvent]) -> dict[int, Subject]:
        """Return the subject of each event, by the event's id."""
        tickets = {row.ticket_id for row in rows if row.ticket_id}
        states = self._session.execute(
            select(TicketState.ticket_id, TicketState.snapshot).where(TicketState.ticket_id.in_(tickets))
        )
        snapshots: dict[int, dict[str, Any]] = dict(states.all())
        links = select(TicketIssueLink.ticket_id, TicketIssueLink.tracker_id)
        issues = dict(self._session.execute(links.where(TicketIssueLink.ticket_id.in_(tickets))).all())
        loggers = self._loggers([row.id for row in rows if row.task_id])
        found = {}
        for row in rows:
            snapshot = snapshots.get(row.ticket_id, {})
            who = loggers.get(row.id) or snapshot.get("technician")
            title = str(snapshot.get("title") or "")
            found[row.id] = Subject(title, _name(who), issues.get(row.ticket_id), snapshot.get("entity_id"))
        return found

    def people(self, words: str, most: int = MOST_PEOPLE) -> list[KnownPerson]:
        """Return help desk users by number, or by part of their e-mail, or of their login or name on the tracker."""
        number, part = read_id(words), words.strip().lower()
        seen = select(HelpdeskPerson.helpdesk_user_id, HelpdeskPerson.email)
        if number is not None:
            rows = self._session.execute(seen.where(HelpdeskPerson.helpdesk_user_id == number)).all()
            return [self._known(one, email) for one, email in rows] or [KnownPerson(number, "", "")]
        if not part:
            return []
        has_mail = func.lower(HelpdeskPerson.email).contains(part, autoescape=True)
        rows = self._session.execute(seen.where(has_mail).limit(most)).all()
        named = [self._known(one, email) for one, email in rows]
        users = select(TrackerUser.tracker_user_id, TrackerUser.mail_key).where(
            or_(
                *(
                    func.lower(column).contains(part, autoescape=True)
                    for column in (TrackerUser.login, TrackerUser.name)
                )
            )
        )
        tracked = self._session.execute(users.limit(most)).all()
        ids, mails = [one for one, _ in tracked], [mail for _, mail in tracked if mail]
        helpdesk_ids = {
            one
            for model in (UserMap, UserPin)
            for one in self._session.scalars(
                select(model.helpdesk_user_id).where(model.tracker_user_id.in_(ids))
            )
        }
        same_mail = func.lower(HelpdeskPerson.email).in_(mails)
        rows = self._session.execute(
            seen.where(or_(HelpdeskPerson.helpdesk_user_id.in_(helpdesk_ids), same_mail))
        ).all()
        named += [self._known(one, email) for one, email in rows]
        return list({one.helpdesk_user_id: one for one in named}.values())[:most]

    def of_person(self, words: str, within: Within = ()) -> ColumnElement[bool]:
        """Return the condition that an event names a person, in whatever role.

        Args:
            words: their number, or a part of the e-mail or name.
            within: conditions for the events to search; empty: all events.
        """
        people = self.people(words)
        found = [self._names(one) for one in people]
        if read_id(words) is None and len(people) < MOST_PEOPLE:  # a name that only events have
            names = self.names_in_tickets(words, self._tickets_of(within))
            found += [self._has_piece(f'"name": {json.dumps(one)}') for one in names]
        return or_(*found) if found else false()

    def of_place(self, words: str, within: Within = ()) -> ColumnElement[bool]:
        """Return the condition that an event's ticket is in an entity or project, by kind and number or by name.

        Args:
            words: such as `entity:77`, `77`, or a part of the name.
            within: conditions for the events to search; empty: all events.
        """
        exact, number = PLACE.fullmatch(words.strip().lower()), read_id(words.strip())
        kinds = (exact[1],) if exact else ("entity", "project")
        if exact:
            number = int(exact[2])
        where = or_(
            *(
                self._has_number(f"{kind}_id", number)
                if number is not None
                else self._has_word(f'"{kind}_name": "%', words)
                for kind in kinds
            )
        )
        there, tickets = select(TicketState.ticket_id).where(where), self._tickets_of(within)
        if tickets is None:
            return JournalEvent.ticket_id.in_(there)
        there = there.where(TicketState.ticket_id.in_(tickets))
        return JournalEvent.ticket_id.in_(self._session.scalars(there).all())

    def has_more_tickets(self, newest: int) -> bool:
        """Return whether there are more tickets than this number."""
        further = select(TicketState.ticket_id).order_by(TicketState.ticket_id.desc()).offset(newest).limit(1)
        return self._session.scalar(further) is not None

    def tickets_titled(
        self, words: str, most: int = MOST_TITLES, *, newest: int | None = None
    ) -> list[tuple[int, str]]:
        """Return tickets whose title has every word, the newest first, with their titles.

        Args:
            words: the words.
            most: how many tickets at most.
            newest: number of newest tickets to search; None: all.
        """
        parts = words.split()
        if not parts:
            return []
        wanted = select(TicketState.ticket_id, TicketState.snapshot)
        wanted = wanted.where(*(self._has_word('"title": "%', one) for one in parts), *_newest(newest))
        found: list[tuple[int, str]] = []
        newest_first = wanted.order_by(TicketState.ticket_id.desc()).limit(MOST_READ)
        for number, snapshot in self._session.execute(newest_first):
            title = str(snapshot.get("title") or "")
            if all(one.lower() in title.lower() for one in parts):
                found.append((number, title))
            if len(found) == most:
                break
        return found

    def names_in_tickets(
        self, words: str, tickets: Collection[int] | None = None, *, newest: int | None = None
    ) -> list[str]:
        """Return the names of people in tickets that contain a text.

        Args:
            words: the text.
            tickets: the tickets to search; None: all.
            newest: number of newest tickets to search; None: all.
        """
        part = words.strip()
        if not part:
            return []
        wanted = select(TicketState.snapshot).where(*_newest(newest))
        if tickets is not None:
            wanted = wanted.where(TicketState.ticket_id.in_(tickets))
        wanted = wanted.where(self._has_word('"name": "%', part))
        found: dict[str, None] = {}
        for snapshot in self._session.scalars(wanted.limit(MOST_READ)):
            for role in ROLES:
                name = (snapshot.get(role) or {}).get("name") or ""
                if part.lower() in name.lower():
                    found[name] = None
        return list(found)[:MOST_PEOPLE]

    def known_ticket(self, ticket_id: int) -> bool:
        """Return whether an event or the state of a ticket is stored."""
        kept = (
            select(JournalEvent.id).where(JournalEvent.ticket_id == ticket_id).limit(1),
            select(TicketState.ticket_id).where(TicketState.ticket_id == ticket_id),
        )
        return any(self._session.scalar(one) is not None for one in kept)

    def tickets_of_issue(self, issue_id: int) -> list[int]:
        """Return the tickets of an issue."""
        is_it = TicketIssueLink.tracker_id == issue_id
        states = (TicketIssueLink.state != LedgerState.GONE, TicketIssueLink.state == LedgerState.GONE)
        # split by state to match the partial indexes
        either = or_(*(and_(is_it, one) for one in states))
        return list(self._session.scalars(select(TicketIssueLink.ticket_id).where(either).limit(MOST_TITLES)))

    def known_event(self, event_id: int) -> bool:
        """Return whether an event is stored."""
        kept = select(JournalEvent.id).where(JournalEvent.id == event_id)
        return self._session.scalar(kept) is not None

    def _known(self, helpdesk_user_id: int, email: str | None) -> KnownPerson:
        by_mail = TrackerUser.mail_key == (email or "").lower()
        mapped = select(UserMap.tracker_user_id).where(UserMap.helpdesk_user_id == helpdesk_user_id)
        is_theirs = TrackerUser.tracker_user_id.in_(mapped)
        name = self._session.scalar(
            select(TrackerUser.name).where(or_(is_theirs, by_mail)).order_by(is_theirs.desc()).limit(1)
        )
        return KnownPerson(helpdesk_user_id, email or "", name or "")

    def _loggers(self, event_ids: Collection[int]) -> dict[int, Any]:
        """Return the people who logged the tasks of some events; only this part of a payload is read."""
        found: dict[int, Any] = {}
        for column in (JournalEvent.payload, JournalEvent.completion):
            rows = self._session.execute(self._after_key(column, "user", event_ids)).all()
            for event_id, piece in rows:
                person = _object_at(piece)
                if person:
                    found.setdefault(event_id, person)
        return found

    def _after_key(
        self, column: InstrumentedAttribute[Any], key: str, event_ids: Collection[int]
    ) -> Select[int, str]:
        mark = f'"{key}": {{'
        place = self._position(column, mark)
        piece = func.substr(column, place + len(mark) - 1, PIECE)
        return select(JournalEvent.id, piece).where(JournalEvent.id.in_(event_ids), place > 0)

    def _position(self, column: Any, text: str) -> ColumnElement[int]:
        """Return the position of a text in a column, from 1; 0 if it is not found."""
        return func.strpos(column, text) if is_on_postgresql(self._session) else func.instr(column, text)

    def _names(self, one: KnownPerson) -> ColumnElement[bool]:
        """Return the condition that an event names a person; the rarer text is searched first."""
        number = one.helpdesk_user_id
        ends = (",", "}")
        roles = [self._has_piece(f'"{role}": {{"id": {number}{end}') for role in ROLES for end in ends]
        by_number = and_(self._has_piece(f'"id": {number}'), or_(*roles))
        return (
            or_(by_number, self._has_piece(f'"email": {json.dumps(one.email)}')) if one.email else by_number
        )

    def _has_piece(self, piece: str) -> ColumnElement[bool]:
        """Return the condition that the payload or completion of an event contains a piece of JSON."""
        return or_(
            *(self._position(one, piece) > 0 for one in (JournalEvent.payload, JournalEvent.completion))
        )

    def _has_number(self, name: str, number: int) -> ColumnElement[bool]:
        """Return the condition that a snapshot has a number; only a snapshot with its digits is parsed as JSON."""
        text = type_coerce(TicketState.snapshot, Text)
        return and_(
            self._position(text, f'"{name}": {number}') > 0, number_in(TicketState.snapshot, name) == number
        )

    def _has_word(self, before: str, word: str) -> ColumnElement[bool]:
        """Return the condition that a snapshot may have a word after a key, in any of the usual cases.

        JSON escapes characters outside ASCII, so no database folds their case; the query contains the variants.
        """
        text: ColumnElement[str] = type_coerce(TicketState.snapshot, Text)
        if is_on_postgresql(self._session):
            text = collate(text, "C")  # folds the same ASCII letters, and far faster
        variants = (word, word.lower(), word.upper(), word.capitalize(), word.title())
        pieces = dict.fromkeys(json.dumps(one)[1:-1].lower() for one in variants)
        lower = func.lower(text)
        return or_(
            *(
                and_(self._position(lower, one) > 0, lower.like(f"%{before}{_escaped(one)}%", escape="/"))
                for one in pieces
            )
        )

    def _tickets_of(self, within: Within) -> Sequence[int] | None:
        """Return the tickets of the events that are searched; None if all are."""
        if not within:
            return None
        return self._session.scalars(select(JournalEvent.ticket_id).where(*within).distinct()).all()


def _newest(count: int | None) -> tuple[ColumnElement[bool], ...]:
    """Return the condition for a number of newest tickets."""
    if count is None:
        return ()
    newest = select(TicketState.ticket_id).order_by(TicketState.ticket_id.desc())
    oldest = newest.offset(count - 1).limit(1).scalar_subquery()
    return (TicketState.ticket_id >= func.coalesce(oldest, 0),)


def _escaped(text: str) -> str:
    return text.replace("/", "//").replace("%", "/%").replace("_", "/_")


def _object_at(piece: str) -> Any:
    """Return the JSON object at the start of a text; if it is cut off, the fields that can be read."""
    try:
        return json.JSONDecoder().raw_decode(piece)[0]
    except ValueError:
        whole = re.findall(r'"(id|name|email)": ("(?:[^"\\]|\\.)*"|\d+)', piece)
        return {name: json.loads(value) for name, value in whole}


def _name(person: Any) -> str:
    if not isinstance(person, dict):
        return ""
    number = person.get("id")
    return str(person.get("name") or person.get("email") or (f"#{number}" if number else ""))
