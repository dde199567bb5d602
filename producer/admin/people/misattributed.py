"""Issues and time entries with another author than intended (SPEC section 5), one by one and by person."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime

from producer.admin.naming.names import Names
from producer.admin.presenters.shapes import WithNotice, reason_json
from producer.admin.records.transaction import Store, Transaction
from producer.admin.records.wrong_authors import NEWEST, Counted
from shared.events.snapshots import HelpdeskUser
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.render import because
from shared.store.configuration.matching import TrackerPerson
from shared.store.ledger.misattributed import Place
from shared.store.tables.ledger import Misattributed

PERSON, LOGIN, NOBODY = "person", "login", "nobody"
"""Prefixes of `MisattributedByPerson.key`."""


class WrongAuthor(WithNotice):
    """An issue or a time entry with another author in Redmine than intended.

    `helpdesk_user_id`: the intended author, if GLPI named one. `hours`: the hours of a time entry, if known. `author`
    and `person`: names of the actual and of the intended author, if known.
    """

    kind: Annotated[str, AfterValidator(Kind)]
    id: int
    ticket_id: int
    tracker_id: int
    author_id: int | None
    author: str | None = None
    helpdesk_user_id: int | None
    person: str | None = None
    hours: float | None
    since: AwareDatetime
    reason: str
    todo: str

    @property
    def key(self) -> int:
        """The key in the ledger: ticket id or ticket-task id."""
        return self.id


@dataclass(slots=True)
class MisattributedByPerson:
    """Work that was intended for one person and has another author.

    Attributes:
        key: identifies the person in addresses: `person:99`, `login:alice`, or `nobody` if GLPI named no one.
        helpdesk_user_id: None if the GLPI user is not known.
        name: e-mail, login, or number; empty if GLPI named no one.
        reasons: why, with the numbers for each reason.
        person: the Redmine user according to the current mappings, or None.
    """

    key: str
    helpdesk_user_id: int | None
    name: str
    since: datetime
    issues: int = 0
    entries: int = 0
    hours: float = 0.0
    reasons: list[Counted] = field(default_factory=list)
    person: TrackerPerson | None = None

    def add(self, one: Counted) -> None:
        """Add the work that has another author for one more reason."""
        self.reasons.append(one)
        self.issues += one.issues
        self.entries += one.entries
        self.hours += one.hours
        self.since = min(self.since, one.since)


@dataclass(frozen=True, slots=True)
class ByPerson:
    """The people whose work has another author.

    Attributes:
        people: those with the most hours first.
        counted: number of their issues and time entries.
        all_counted: whether no older ones were left out.
    """

    people: list[MisattributedByPerson]
    counted: int
    all_counted: bool


def misattributed(store: Store, *, limit: int | None = None, below: Place | None = None) -> list[WrongAuthor]:
    """Return the work that has another author than intended, newest first.

    Args:
        store: the database.
        limit: how many; None for all.
        below: the end of the previous page.
    """
    with store.transaction() as tx:
        return _shown(tx, tx.misattributed.find(limit=limit, below=below))


def with_names(names: Names, found: Iterable[WrongAuthor]) -> list[WrongAuthor]:
    """Return work with the wrong author, with the names of its author and of the intended one."""
    return [
        one.model_copy(
            update={
                "author": names.name("user", one.author_id) if one.author_id else None,
                "person": names.name("person", one.helpdesk_user_id) if one.helpdesk_user_id else None,
            }
        )
        for one in found
    ]


def by_person(store: Store) -> ByPerson:
    """Return the intended authors of work that has another author, those with the most hours first."""
    with store.transaction() as tx:
        people = sorted(_people(tx).values(), key=lambda one: (-one.hours, -one.issues, one.key))
    counted = sum(one.issues + one.entries for one in people)
    return ByPerson(people, counted, counted < NEWEST)


def of_whose(store: Store, key: str, *, limit: int, after: int = 0) -> list[WrongAuthor]:
    """Return the work that was intended for one person and has another author, newest first.

    Args:
        store: the database.
        key: `MisattributedByPerson.key`.
        limit: how many.
        after: how many to skip before them.
    """
    with store.transaction() as tx:
        whose = _people(tx).get(key)
        return _shown(tx, tx.wrong_authors.page(whose.reasons if whose else [], limit=limit, after=after))


def entries_of(store: Store, key: str, limit: int) -> list[int]:
    """Return the ticket tasks whose hours were intended for one person and have another author, oldest first."""
    with store.transaction() as tx:
        whose = _people(tx).get(key)
        return list(tx.wrong_authors.entries(whose.reasons, limit)) if whose else []


def _people(tx: Transaction) -> dict[str, MisattributedByPerson]:
    reasons = tx.wrong_authors.by_reason()
    users = _users_of(tx, [one.why for one in reasons])
    emails = tx.wrong_authors.emails({number for number in users.values() if number is not None})
    found: dict[str, MisattributedByPerson] = {}
    for one, number in zip(reasons, users.values(), strict=True):
        login = _param(one.why, "login")
        name = (emails.get(number) or f"#{number}") if number else str(login or "")
        key = f"{PERSON}:{number}" if number else f"{LOGIN}:{login}" if login else NOBODY
        found.setdefault(key, MisattributedByPerson(key, number, name, one.since)).add(one)
    _match(tx, found.values(), emails)
    return found


def _match(tx: Transaction, found: Iterable[MisattributedByPerson], emails: dict[int, str]) -> None:
    """Set each person's Redmine user according to the current mappings."""
    known = {one.helpdesk_user_id: one for one in found if one.helpdesk_user_id is not None}
    users = [HelpdeskUser.model_construct(id=number, email=emails.get(number)) for number in known]
    administrators = tx.configs.get()[0].match_administrators
    for user, match in tx.people.match_all(users, administrators=administrators):
        known[user.id].person = match.person


def _users_of(tx: Transaction, reasons: Collection[Notice | None]) -> dict[int, int | None]:
    """Return the GLPI user of each reason, by the reason's index; None if the reason names no one."""
    logins = {str(login) for one in reasons if (login := _param(one, "login"))}
    by_login = tx.wrong_authors.helpdesk_users(logins) if logins else {}
    return {
        place: _param(one, "helpdesk_user_id") or by_login.get(str(_param(one, "login")))
        for place, one in enumerate(reasons)
    }


def _param(notice: Notice | None, name: str) -> Any:
    """Return a parameter of a reason, or of a cause within it."""
    if notice is None:
        return None
    causes = (one for one in notice.params.values() if isinstance(one, Notice))
    return notice.params.get(name) or next((value for one in causes if (value := _param(one, name))), None)


def _shown(tx: Transaction, rows: Collection[tuple[Misattributed, int | None]]) -> list[WrongAuthor]:
    hours = tx.wrong_authors.hours([one.key for one, _ in rows if one.kind == Kind.TICKET_TASK])
    reasons = [one.notice or Reason.CAUSE_NOT_KNOWN() for one, _ in rows]
    users = _users_of(tx, reasons)
    return [
        WrongAuthor(
            kind=Kind(one.kind),
            id=one.key,
            ticket_id=one.ticket_id,
            tracker_id=one.tracker_id,
            author_id=author_id,
            helpdesk_user_id=users[place],
            hours=hours.get(one.key) if one.kind == Kind.TICKET_TASK else None,
            since=one.at,
            todo=because(why),
            **reason_json(why),
        )
        for place, ((one, author_id), why) in enumerate(zip(rows, reasons, strict=True))
    ]
