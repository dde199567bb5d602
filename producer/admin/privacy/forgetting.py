"""Erases a person on request: removes their e-mail, login, name and ids from everything that is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from producer.admin.privacy.erasure import OPEN_EVENTS, Erasure, tables
from producer.admin.privacy.scrubbing import Person, Scrubber
from producer.admin.records.transaction import Store
from shared.errors import BridgeError, NotFound
from shared.notices.cautions import Caution
from shared.notices.changes import Did
from shared.notices.notice import Notice
from shared.notices.refusals import Refusal
from shared.store.tables.journal import EventState

MOST_NAMED = 10


class StillNeeded(BridgeError):
    """Something that names the person is not finished; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The result of an erasure.

    Attributes:
        person: everything that identified them.
        changed: number of rows that were rewritten or deleted, by table.
        failed_events: failed events whose replay would now act as the API user.
        warnings: what is left for a person to do.
    """

    person: Person
    changed: dict[str, int]
    failed_events: list[int] = field(default_factory=list)
    warnings: list[Notice] = field(default_factory=list)


def forget(store: Store, helpdesk_user_id: int | None, email: str | None) -> Forgotten:
    """Remove a person from journal, desired states, ledger, ticket history, caches and audit log; safe to run again.

    Links keep their ids, so that nothing is created twice.

    Args:
        store: the database.
        helpdesk_user_id: the help desk's id, or None.
        email: an e-mail address, or None.

    Raises:
        StillNeeded: if events or creations that name the person are not finished.
        NotFound: if nothing that is stored names them.
    """
    ids = frozenset() if helpdesk_user_id is None else frozenset({helpdesk_user_id})
    mails = frozenset({email.strip().casefold()}) if email else frozenset()
    person, waiting, failed = _find(store, Person(ids, mails))
    if waiting:
        some = sorted(waiting)[:MOST_NAMED]
        raise StillNeeded(Refusal.DATA_STILL_NEEDED(tickets=len(waiting), examples=some))
    changed: Counter[str] = Counter()
    for name, count in _erase(store, person):
        changed[name] += count
    changed = +changed
    if not changed:
        raise NotFound(Refusal.PERSON_UNKNOWN())
    with store.transaction() as tx:
        tx.changes.note(Did.PERSON_FORGOTTEN(), after=dict(changed))
    return Forgotten(person, dict(changed), failed, _warnings(store, person))


def _find(store: Store, person: Person) -> tuple[Person, set[int], list[int]]:
    """Return the person with all their addresses and names in the journal, unfinished tickets, and failed events."""
    while True:
        before, waiting, failed, after = person, set[int](), list[int](), 0
        with store.database.transaction() as session:
            person = Erasure(session).widen(person)
        while True:
            with store.database.transaction() as session:
                rows = Erasure(session).events_of(person, after)
            for event_id, ticket_id, state, data in rows:
                after = event_id
                if Scrubber(person, with_names=False).data(data) == data:
                    continue  # the same number, but of something else
                said = (*_said_of(data, person, "email"), *_said_of(data, person, "emails"))
                mails = {one.casefold() for one in said}
                names = person.names | set(_said_of(data, person, "name"))
                person = Person(person.helpdesk_ids, person.mails | mails, person.tracker_ids, names)
                waiting |= {ticket_id} if state in OPEN_EVENTS else set()
                failed += [event_id] if state == EventState.FAILED else []
            if not rows:
                break
        if person == before:
            with store.database.transaction() as session:
                return person, waiting | Erasure(session).unsettled_of(person), failed


def _said_of(data: Any, person: Person, what: str, role: str | None = None) -> Iterator[str]:
    """Yield the addresses, or the names, that JSON data has for a person."""
    if isinstance(data, dict):
        said = data.get(what)
        if person.is_meant(data, role):
            texts = said if isinstance(said, list) else [said]
            yield from (text.strip() for text in texts if isinstance(text, str) and text.strip())
        for name, value in data.items():
            yield from _said_of(value, person, what, name)
    elif isinstance(data, list):
        for value in data:
            yield from _said_of(value, person, what, role)


def _erase(store: Store, person: Person) -> Iterator[tuple[str, int]]:
    """Remove the person in small transactions; yield how many rows were changed, by table."""
    with store.database.transaction() as session:
        erasure = Erasure(session)
        yield from erasure.delete_records(person).items()
        yield "ledger authors", erasure.forget_authors(person)
    for table in tables():
        after = None
        while True:
            with store.database.transaction() as session:
                count, after = Erasure(session).scrub(table, person, after)
            yield table.name, count
            if after is None:
                break


def _warnings(store: Store, person: Person) -> list[Notice]:
    with store.transaction() as tx:
        config, _ = tx.configs.get()
    watching = sorted(set(config.default_watcher_ids) & person.tracker_ids)
    return [Caution.STILL_A_WATCHER(users=watching)] if watching else []
