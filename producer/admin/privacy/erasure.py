"""Removes a person from every table (`producer.admin.privacy.forgetting` checks first whether that is allowed)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from sqlalchemy import (
    Column,
    ColumnElement,
    Row,
    String,
    Table,
    delete,
    false,
    func,
    or_,
    select,
    tuple_,
    type_coerce,
    update,
)
from sqlalchemy import Text as PlainText
from sqlalchemy.orm import Session
from sqlalchemy.types import TypeDecorator

from producer.admin.privacy.scrubbing import Person, Scrubber
from producer.admin.records.models import TABLES
from shared.events.stored import stored_data
from shared.store.configuration.basis import note_change
from shared.store.tables.configuration import (
    HelpdeskPerson,
    MembershipKnown,
    PluginConfigRecord,
    TemplateVersion,
    TrackerUser,
    UserMap,
    UserPin,
)
from shared.store.tables.journal import EventState, JournalEvent
from shared.store.tables.ledger import LEDGERS, DocumentLink, LedgerState, NoteLink
from shared.store.tables.types import Json

AT_ONCE = 500
OWN_WORDS = ("params", "status_params", "call", "differences", "who", "before", "after")
"""Columns with our own sentences, in which a login or a name means the person and nothing else."""
ADDITIONS = (NoteLink.__tablename__, DocumentLink.__tablename__)
NAMED_IN = ("body", "earlier")
"""Columns of `ADDITIONS`: a text may begin with its author's name, and a file be named after a person."""
PAYLOAD = "payload"
AS_IN_A_FILE = "_-.+"
"""Characters that replace a space in file names."""
JSON_TEXT = ("payload", "completion")
UNSETTLED = (LedgerState.CLAIMED, LedgerState.IN_DOUBT, LedgerState.ON_HOLD)
OPEN_EVENTS = (EventState.PENDING, EventState.ON_HOLD)
NAMING = ("journal", "ticket_state")
SENT_FROM = {
    one.__tablename__
    for one in (UserMap, UserPin, TrackerUser, PluginConfigRecord, TemplateVersion, HelpdeskPerson)
}
"""Requests are built from these tables, or workers cache them: a change of them is counted (`basis`)."""


class Erasure:
    """Finds and removes a person within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def widen(self, person: Person) -> Person:
        """Return the person with all further ids, addresses and names that the tables of people have."""
        mails, ids = set(person.mails), set(person.helpdesk_ids)
        seen = select(HelpdeskPerson).where(
            or_(HelpdeskPerson.helpdesk_user_id.in_(ids), func.lower(HelpdeskPerson.email).in_(mails))
        )
        for row in self._session.scalars(seen):
            ids.add(row.helpdesk_user_id)
            mails |= {row.email.strip().casefold()} if row.email else set()
        mapped = set(
            self._session.scalars(select(UserMap.tracker_user_id).where(UserMap.helpdesk_user_id.in_(ids)))
        )
        users = self._session.scalars(
            select(TrackerUser).where(
                or_(
                    TrackerUser.tracker_user_id.in_(mapped | person.tracker_ids),
                    func.lower(TrackerUser.mail).in_(mails),
                )
            )
        ).all()
        return Person(
            frozenset(ids),
            frozenset(mails | {user.mail.strip().casefold() for user in users if user.mail}),
            frozenset(mapped | person.tracker_ids | {user.tracker_user_id for user in users}),
            frozenset({*person.names, *(user.login for user in users), *(user.name for user in users)}),
        )

    def events_of(self, person: Person, after: int) -> Sequence[tuple[int, int, str, Any]]:
        """Return the next events after an id that may name a person: id, ticket, state, content."""
        table = cast(Table, JournalEvent.__table__)
        columns = (table.c.id, table.c.ticket_id, table.c.state, table.c.payload, table.c.completion)
        statement = select(*columns).where(table.c.id > after, _mentions(table, person)).order_by(table.c.id)
        return [
            (event_id, ticket_id, state, stored_data(payload, completion))
            for event_id, ticket_id, state, payload, completion in self._session.execute(
                statement.limit(AT_ONCE)
            )
        ]

    def unsettled_of(self, person: Person) -> set[int]:
        """Return the tickets with an undecided creation that concerns this person, or their e-mail."""
        found: set[int] = set()
        for model in LEDGERS:
            rows = self._session.scalars(select(model).where(model.state.in_(UNSETTLED)))
            for row in rows:
                body = json.dumps(row.body)
                if (
                    set(row.authors or ()) & person.tracker_ids
                    or Scrubber(person, with_names=False).text(body) != body
                ):
                    found.add(row.ticket_id)
        return found

    def delete_records(self, person: Person) -> dict[str, int]:
        """Delete the rows that are only about the person; return how many, by table."""
        gone = {
            HelpdeskPerson: HelpdeskPerson.helpdesk_user_id.in_(person.helpdesk_ids),
            UserMap: UserMap.helpdesk_user_id.in_(person.helpdesk_ids),
            UserPin: UserPin.helpdesk_user_id.in_(person.helpdesk_ids)
            | UserPin.tracker_user_id.in_(person.tracker_ids),
            TrackerUser: TrackerUser.tracker_user_id.in_(person.tracker_ids),
            MembershipKnown: MembershipKnown.tracker_user_id.in_(person.tracker_ids),
        }
        counts = {}
        for model, where in gone.items():
            rows = self._session.execute(
                delete(model).where(where).returning(*model.__table__.primary_key)
            ).all()
            counts[model.__tablename__] = len(rows)
        if any(counts.get(name) for name in SENT_FROM):
            note_change(self._session)
        return counts

    def forget_authors(self, person: Person) -> int:
        """Remove the person's tracker id from creations whose outcome is decided; return how many."""
        count = 0
        for model in LEDGERS:
            settled = model.state.not_in(UNSETTLED)
            rows = self._session.execute(
                update(model.__table__)  # type: ignore[arg-type]
                .where(settled, model.author_id.in_(person.tracker_ids))
                .values(author_id=None, authors=None)
                .returning(model.ticket_id)
            )
            count += len(rows.all())
        return count

    def scrub(
        self, table: Table, person: Person, after: Sequence[Any] | None
    ) -> tuple[int, Sequence[Any] | None]:
        """Rewrite some rows of a table that mention a person.

        Args:
            table: the table.
            person: the person.
            after: the key of the last row that was examined; None starts at the beginning.

        Returns:
            How many rows were changed, and the key to continue from (None if that was all).
        """
        key = list(table.primary_key)
        statement = select(table).where(_mentions(table, person)).order_by(*key).limit(AT_ONCE)
        if after is not None:
            statement = statement.where(tuple_(*key) > tuple_(*after))
        rows = self._session.execute(statement).all()
        changed = 0
        for row in rows:
            values = _without(table, row, person)
            if values:
                own = [column == getattr(row, column.name) for column in key]
                self._session.execute(update(table).where(*own).values(values))
                changed += 1
        if changed and table.name in SENT_FROM:
            note_change(self._session)
        last = [getattr(rows[-1], column.name) for column in key] if len(rows) == AT_ONCE else None
        return changed, last


def tables() -> Iterator[Table]:
    """Yield every table with text columns."""
    yield from (table for table in TABLES.sorted_tables if _texts(table))


def _texts(table: Table) -> list[Column[Any]]:
    return [column for column in table.c if _is_text(column) and not column.primary_key]


def _is_text(column: Column[Any]) -> bool:
    kind = column.type
    return isinstance(kind, String) or (
        isinstance(kind, TypeDecorator) and isinstance(kind.impl_instance, String)
    )


def _mentions(table: Table, person: Person) -> ColumnElement[bool]:
    """Return a condition that matches every row that may mention a person, and some that do not."""
    found: list[ColumnElement[bool]] = [false()]
    for column in _texts(table):
        text = func.lower(type_coerce(column, PlainText), type_=PlainText())
        has_names = _has_names(table, column) or column.name == PAYLOAD  # a file in it may be named so
        words = {*person.mails, *(_forms(person.names) if has_names else ())}
        for word in words:
            for form in {
                word.lower(),
                json.dumps(word)[1:-1].lower(),
                json.dumps(word.upper())[1:-1].lower(),
            }:
                found.append(text.contains(form, autoescape=True))
        if table.name in NAMING:
            for number in person.helpdesk_ids:
                found += [text.contains(f'"id": {number}{end}') for end in ",}"]
    return or_(*found)


def _has_names(table: Table, column: Column[Any]) -> bool:
    return column.name in OWN_WORDS or (table.name in ADDITIONS and column.name in NAMED_IN)


def _forms(names: Iterable[str]) -> Iterator[str]:
    """Yield names as they are written, and as they appear in file names."""
    for name in names:
        yield name
        yield from (name.replace(" ", one) for one in AS_IN_A_FILE if " " in name)


def _without_name_of_file(data: Any, person: Person) -> Any:
    """Return an event with the person removed from its document's name."""
    document = data.get("document") if isinstance(data, dict) else None
    if not isinstance(document, dict) or not isinstance(document.get("name"), str):
        return data
    name = Scrubber(person, with_names=True).text(document["name"])
    return {**data, "document": {**document, "name": name}}


def _without(table: Table, row: Row[Any], person: Person) -> dict[str, Any]:
    """Return the columns of a row that change when the person is removed."""
    values: dict[str, Any] = {}
    for column in _texts(table):
        before = getattr(row, column.name)
        if before is None:
            continue
        scrubber = Scrubber(person, with_names=_has_names(table, column))
        if isinstance(column.type, Json):
            after = scrubber.data(before)
        elif column.name in JSON_TEXT:
            after = json.dumps(_without_name_of_file(scrubber.data(json.loads(before)), person))
        else:
            after = scrubber.text(before)
        if after != before:
            values[column.name] = after
    return values
