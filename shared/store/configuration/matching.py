"""Matches help desk users with tracker users (SPEC section 5, rule 4): by user mapping, else by e-mail, else no one.

The main addresses decide. Only if they match no one, additional addresses do: those in the event, and those that the
tracker was asked about (`People.pin_additional`), since its lists show only main addresses.

A person who can change an e-mail address, in the help desk or on the tracker, could impersonate anyone. So the first
match by e-mail is pinned. A later match that differs from it counts as no match until a person decides.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import BindParameter, Row, Table, bindparam, or_, select
from sqlalchemy.orm import Session

from shared.events.snapshots import HelpdeskUser
from shared.notices.notice import Notice
from shared.notices.reasons import Matching
from shared.store.tables.configuration import TrackerUser, UserMap, UserPin

BLANKS = " \t\r\n"
ADDRESS = re.compile(r"[\x21-\x7e]+")
MAP, PIN, PERSON = (cast(Table, one.__table__) for one in (UserMap, UserPin, TrackerUser))
IDS: BindParameter[Any] = bindparam("ids", expanding=True)
MAILS: BindParameter[Any] = bindparam("mails", expanding=True)
THEIRS: BindParameter[Any] = bindparam("users", expanding=True)
OVERRIDES = select(MAP.c.helpdesk_user_id, MAP.c.tracker_user_id)
USERS, PINS = select(*PERSON.c), select(*PIN.c)
WITH_MAILS = select(PERSON.c.tracker_user_id).where(PERSON.c.mail_key.in_(MAILS))
OVERRIDES_OF_SOME = OVERRIDES.where(
    or_(MAP.c.helpdesk_user_id.in_(IDS), MAP.c.tracker_user_id.in_(WITH_MAILS))
)
PINNED_TO_SOME = select(PIN.c.tracker_user_id).where(PIN.c.helpdesk_user_id.in_(IDS), PIN.c.is_additional)
USERS_OF_SOME = USERS.where(
    or_(
        PERSON.c.mail_key.in_(MAILS),
        PERSON.c.tracker_user_id.in_(THEIRS),
        PERSON.c.tracker_user_id.in_(PINNED_TO_SOME),
    )
)
PINS_OF_SOME = PINS.where(or_(PIN.c.helpdesk_user_id.in_(IDS), PIN.c.tracker_user_id.in_(THEIRS)))


@dataclass(frozen=True, slots=True)
class TrackerPerson:
    """A tracker user that can be impersonated."""

    tracker_user_id: int
    login: str
    name: str
    mail: str | None = None
    admin: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """The tracker user that a help desk user was matched with, and why.

    Attributes:
        person: the tracker user; None if the API user acts instead.
        confirmed: whether a person has confirmed the match: a user mapping, or a confirmed match by e-mail.
        pinned: whether it is a match by e-mail that was pinned before.
        is_additional: whether the address is not the main one of both.
    """

    person: TrackerPerson | None
    why: Notice
    confirmed: bool = False
    pinned: bool = False
    is_additional: bool = False

    @property
    def waits(self) -> bool:
        """Whether the match by e-mail conflicts with a known match, so that a person must decide with `user map`."""
        return self.why.code in (Matching.EMAIL_CHANGED, Matching.EMAIL_TAKEN)


def nobody() -> Match:
    """Return the match if no help desk user was named."""
    return Match(None, Matching.NOBODY_NAMED())


def who(user: HelpdeskUser) -> tuple[int, str | None]:
    """Return id and e-mail, which identify a help desk user as named in events."""
    return user.id, user.email


def mail_key(mail: str | None) -> str | None:
    """Return an e-mail address in the form used for comparison, or None if it never matches.

    Only printable ASCII can match: other characters have look-alikes, or become alike by case folding.
    """
    address = (mail or "").strip(BLANKS)
    return address.lower() if ADDRESS.fullmatch(address) else None


def mail_keys(user: HelpdeskUser) -> list[str]:
    """Return the addresses of a help desk user in the form of `mail_key`, the main one first."""
    return [key for mail in (user.email, *(user.emails or ())) if (key := mail_key(mail))]


def person_of(row: TrackerUser | Row[Any]) -> TrackerPerson:
    return TrackerPerson(row.tracker_user_id, row.login, row.name, row.mail, row.admin)


class KnownPeople:
    """The data for matching help desk users, read in three statements.

    Args:
        session: the transaction.
        among: the help desk users; None reads the data for all.
    """

    def __init__(self, session: Session, among: Collection[HelpdeskUser] | None = None) -> None:
        overrides, users, pins = OVERRIDES, USERS, PINS
        asked: dict[str, list[Any]] = {}
        if among is not None:
            overrides, users, pins = OVERRIDES_OF_SOME, USERS_OF_SOME, PINS_OF_SOME
            asked["ids"] = [one.id for one in among]
            asked["mails"] = list({mail for one in among for mail in mail_keys(one)})
        self._overrides: dict[int, int] = dict(session.execute(overrides, asked).all())
        asked["users"] = [one for user_id, one in self._overrides.items() if user_id in asked.get("ids", ())]
        self._users: dict[int, TrackerPerson] = {}
        self._by_mail: dict[str, list[TrackerPerson]] = defaultdict(list)
        for row in session.execute(users, asked):
            found = self._users[row.tracker_user_id] = person_of(row)
            if row.mail_key is not None:
                self._by_mail[row.mail_key].append(found)
        asked["users"] = list(self._users)
        self._pins = {row.helpdesk_user_id: row for row in session.execute(pins, asked)}
        self._whose: dict[int, list[int]] = defaultdict(list)
        for helpdesk_user_id, tracker_user_id in self._overrides.items():
            self._whose[tracker_user_id].append(helpdesk_user_id)
        for pin in self._pins.values():
            self._whose[pin.tracker_user_id].append(pin.helpdesk_user_id)

    def override(self, helpdesk_user_id: int) -> int | None:
        """Return the tracker user id of a user mapping, or None."""
        return self._overrides.get(helpdesk_user_id)

    def tracker_user(self, tracker_user_id: int) -> TrackerPerson | None:
        """Return an active tracker user, or None."""
        return self._users.get(tracker_user_id)

    def with_mail(self, mail: str) -> Sequence[TrackerPerson]:
        """Return the tracker users with an e-mail address, in the form of `mail_key`."""
        return self._by_mail.get(mail, [])

    def pin(self, helpdesk_user_id: int) -> Row[Any] | None:
        """Return the pinned match of a help desk user, or None."""
        return self._pins.get(helpdesk_user_id)

    def whose(self, tracker_user_id: int, helpdesk_user_id: int) -> int | None:
        """Return another help desk user who is mapped or pinned to this tracker user, or None."""
        return next((one for one in self._whose[tracker_user_id] if one != helpdesk_user_id), None)


def match_user(user: HelpdeskUser, known: KnownPeople, *, administrators: bool) -> Match:
    """Match a help desk user with a tracker user; match administrators by e-mail only if `administrators`."""
    tracker_user_id = known.override(user.id)
    if tracker_user_id is not None:
        person = known.tracker_user(tracker_user_id)
        if person is None:
            return Match(
                None,
                Matching.OVERRIDE_NOT_CACHED(helpdesk_user_id=user.id, tracker_user_id=tracker_user_id),
            )
        why = Matching.BY_OVERRIDE(helpdesk_user_id=user.id, login=person.login)
        return Match(person, why, confirmed=True)
    return _by_mail(user, known, administrators=administrators)


def _by_mail(user: HelpdeskUser, known: KnownPeople, *, administrators: bool) -> Match:
    mails = mail_keys(user)
    if not mails:
        return Match(None, Matching.NO_EMAIL(helpdesk_user_id=user.id))
    found_by_mail, pin = known.with_mail(mails[0]), known.pin(user.id)
    is_additional = not found_by_mail
    if is_additional:
        found_by_mail = _by_additional(mails[1:], known, pin)
    if not found_by_mail:
        return Match(None, Matching.EMAIL_UNKNOWN(helpdesk_user_id=user.id))
    if len(found_by_mail) > 1:
        candidates = [f"{one.tracker_user_id} ({one.login})" for one in found_by_mail]
        return Match(None, Matching.EMAIL_AMBIGUOUS(helpdesk_user_id=user.id, candidates=candidates))
    found = found_by_mail[0]
    about = {"helpdesk_user_id": user.id, "login": found.login}
    if found.admin and not administrators:
        return Match(None, Matching.NO_ADMINISTRATORS(**about))
    if pin is not None:
        if pin.tracker_user_id != found.tracker_user_id:
            return Match(None, Matching.EMAIL_CHANGED(**about, tracker_user_id=pin.tracker_user_id))
        confirmed = pin.confirmed_at is not None
        return Match(found, Matching.BY_EMAIL(**about), confirmed=confirmed, pinned=True)
    other_id = known.whose(found.tracker_user_id, user.id)
    if other_id is not None:
        return Match(None, Matching.EMAIL_TAKEN(**about, other_id=other_id))
    return Match(found, Matching.BY_EMAIL(**about), is_additional=is_additional)


def _by_additional(mails: Sequence[str], known: KnownPeople, pin: Row[Any] | None) -> Sequence[TrackerPerson]:
    """Return the tracker users with an additional address, else the one who was pinned for such an address."""
    people = {person.tracker_user_id: person for mail in mails for person in known.with_mail(mail)}
    if not people and pin is not None and pin.is_additional:
        pinned = known.tracker_user(pin.tracker_user_id)
        return [pinned] if pinned else []
    return list(people.values())
