"""Who a helpdesk user is on the tracker (SPEC section 5, rule 4), and which memberships are known."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from sqlalchemy import BindParameter, Row, Table, bindparam, delete, func, or_, select, update
from sqlalchemy.orm import Session

from shared.codes.notice import Notice
from shared.codes.reasons import Matching
from shared.events.snapshots import HelpdeskUser
from shared.store.configuration.basis import note_change
from shared.store.tables.configuration import (
    HelpdeskPerson,
    MembershipKnown,
    TrackerUser,
    UserMap,
    UserPin,
)
from shared.store.tables.types import clock, insert_for

ADDRESS = re.compile(r"[\x21-\x7e]+")
UNREADABLE = re.compile(r"[\x00-\x1f\x7f]")
BLANKS = " \t\r\n"

MAP, PIN, PERSON, SEEN_BEFORE, MEMBER = (
    cast(Table, one.__table__) for one in (UserMap, UserPin, TrackerUser, HelpdeskPerson, MembershipKnown)
)


def _some(name: str) -> BindParameter[Any]:
    return bindparam(name, expanding=True)


OVERRIDES = select(MAP.c.helpdesk_user_id, MAP.c.tracker_user_id).where(
    MAP.c.helpdesk_user_id.in_(_some("ids"))
)
USERS = select(*PERSON.c).where(
    or_(PERSON.c.mail_key.in_(_some("mails")), PERSON.c.tracker_user_id.in_(_some("ids")))
)
PINS = select(*PIN.c).where(PIN.c.helpdesk_user_id.in_(_some("ids")))
SEEN = select(SEEN_BEFORE.c.helpdesk_user_id, SEEN_BEFORE.c.email).where(
    SEEN_BEFORE.c.helpdesk_user_id.in_(_some("ids"))
)
MEMBERS = select(MEMBER.c.tracker_project_id, MEMBER.c.tracker_user_id).where(
    MEMBER.c.tracker_user_id.in_(_some("users")), MEMBER.c.tracker_project_id.in_(_some("projects"))
)


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
    """The result of mapping a helpdesk user, and why.

    Attributes:
        person: None: the administrator acts for them.
        confirmed: a person has said so: an override, or a match by e-mail that was confirmed.
        pinned: a match by e-mail that was made before.
    """

    person: TrackerPerson | None
    why: Notice
    confirmed: bool = False
    pinned: bool = False

    @property
    def waits(self) -> bool:
        """Whether an e-mail names somebody, but somebody else than before: `map-user` decides."""
        return self.why.code in (Matching.EMAIL_CHANGED, Matching.EMAIL_TAKEN)


class _Known(Protocol):
    """What decides who somebody is."""

    def override(self, helpdesk_user_id: int) -> int | None:
        """Return whom a person has said they are."""

    def tracker_user(self, tracker_user_id: int) -> TrackerPerson | None:
        """Return an active tracker user."""

    def with_mail(self, mail: str) -> Sequence[TrackerPerson]:
        """Return those with an address; two are enough."""

    def pin(self, helpdesk_user_id: int) -> UserPin | Row[Any] | None:
        """Return whom they were matched with before."""

    def whose(self, tracker_user_id: int, helpdesk_user_id: int) -> int | None:
        """Return another helpdesk user who is this tracker user, None where there is none."""


class _Asked:
    """Asks the database about one person."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def override(self, helpdesk_user_id: int) -> int | None:
        return self._session.scalar(
            select(UserMap.tracker_user_id).where(UserMap.helpdesk_user_id == helpdesk_user_id)
        )

    def tracker_user(self, tracker_user_id: int) -> TrackerPerson | None:
        row = self._session.get(TrackerUser, tracker_user_id)
        return _person(row) if row else None

    def with_mail(self, mail: str) -> Sequence[TrackerPerson]:
        rows = self._session.scalars(select(TrackerUser).where(TrackerUser.mail_key == mail).limit(2))
        return [_person(row) for row in rows]

    def pin(self, helpdesk_user_id: int) -> UserPin | Row[Any] | None:
        return self._session.get(UserPin, helpdesk_user_id)

    def whose(self, tracker_user_id: int, helpdesk_user_id: int) -> int | None:
        for table in (UserMap, UserPin):
            other = self._session.scalar(
                select(table.helpdesk_user_id)
                .where(table.tracker_user_id == tracker_user_id, table.helpdesk_user_id != helpdesk_user_id)
                .limit(1)
            )
            if other is not None:
                return other
        return None


class _Of(_Asked):
    """Has read about some people, in three statements."""

    def __init__(self, session: Session, users: Collection[HelpdeskUser]) -> None:
        super().__init__(session)
        ids = [user.id for user in users]
        mails = {mail for user in users if (mail := mail_key(user.email))}
        self._overrides: dict[int, int] = dict(session.execute(OVERRIDES, {"ids": ids}).all())
        found = {"mails": list(mails), "ids": list(self._overrides.values())}
        self._users = session.execute(USERS, found).all()
        self._pins = {row.helpdesk_user_id: row for row in session.execute(PINS, {"ids": ids})}

    def override(self, helpdesk_user_id: int) -> int | None:
        return self._overrides.get(helpdesk_user_id)

    def tracker_user(self, tracker_user_id: int) -> TrackerPerson | None:
        return next((_person(row) for row in self._users if row.tracker_user_id == tracker_user_id), None)

    def with_mail(self, mail: str) -> Sequence[TrackerPerson]:
        return [_person(row) for row in self._users if row.mail_key == mail]

    def pin(self, helpdesk_user_id: int) -> UserPin | Row[Any] | None:
        return self._pins.get(helpdesk_user_id)


class _Read:
    """Has read about everybody, or about some.

    Args:
        session: the transaction.
        among: whom; None: everybody.
    """

    def __init__(self, session: Session, among: Sequence[HelpdeskUser] | None = None) -> None:
        users = select(*TrackerUser.__table__.columns)
        pins, overrides = select(UserPin), select(UserMap.helpdesk_user_id, UserMap.tracker_user_id)
        if among is not None:
            ids = [one.id for one in among]
            theirs = overrides.where(UserMap.helpdesk_user_id.in_(ids))
            mapped = [tracker_user_id for _, tracker_user_id in session.execute(theirs)]
            keys = {key for one in among if (key := mail_key(one.email))}
            users = users.where(
                or_(TrackerUser.mail_key.in_(list(keys)), TrackerUser.tracker_user_id.in_(mapped))
            )
        self._users: dict[int, TrackerPerson] = {}
        self._by_mail: dict[str, list[TrackerPerson]] = defaultdict(list)
        for row in session.execute(users):
            found = self._users[row.tracker_user_id] = _person(row)
            if row.mail_key is not None:
                self._by_mail[row.mail_key].append(found)
        if among is not None:
            pins = pins.where(
                or_(UserPin.helpdesk_user_id.in_(ids), UserPin.tracker_user_id.in_(list(self._users)))
            )
            overrides = overrides.where(
                or_(UserMap.helpdesk_user_id.in_(ids), UserMap.tracker_user_id.in_(list(self._users)))
            )
        self._pins = {one.helpdesk_user_id: one for one in session.scalars(pins)}
        self._overrides: dict[int, int] = dict(session.execute(overrides).all())
        self._taken: dict[int, list[int]] = defaultdict(list)
        for helpdesk_user_id, tracker_user_id in self._overrides.items():
            self._taken[tracker_user_id].append(helpdesk_user_id)
        for pin in self._pins.values():
            self._taken[pin.tracker_user_id].append(pin.helpdesk_user_id)

    def override(self, helpdesk_user_id: int) -> int | None:
        return self._overrides.get(helpdesk_user_id)

    def tracker_user(self, tracker_user_id: int) -> TrackerPerson | None:
        return self._users.get(tracker_user_id)

    def with_mail(self, mail: str) -> Sequence[TrackerPerson]:
        return self._by_mail.get(mail, [])

    def pin(self, helpdesk_user_id: int) -> UserPin | None:
        return self._pins.get(helpdesk_user_id)

    def whose(self, tracker_user_id: int, helpdesk_user_id: int) -> int | None:
        others = self._taken.get(tracker_user_id, [])
        return next((one for one in others if one != helpdesk_user_id), None)


class People:
    """Maps people within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def match(self, user: HelpdeskUser | None, *, administrators: bool = True) -> Match:
        """Map a helpdesk user: the override first, then the e-mail, whatever its case, else nobody.

        Whoever can set an e-mail address, here or on the tracker, could become anybody. So the first match by e-mail is
        pinned (`pin`), and whatever differs from it later is nobody until a person decides.

        Args:
            user: as the helpdesk names them.
            administrators: whether the tracker's administrators are matched by e-mail.
        """
        if user is None:
            return nobody()
        return self._match(user, _Asked(self._session), administrators=administrators)

    def match_all(
        self, among: Sequence[HelpdeskUser] | None = None, *, administrators: bool = True
    ) -> list[tuple[HelpdeskUser, Match]]:
        """Map several helpdesk users as `match` does one by one, with one look at each table.

        Args:
            among: whom; None: everybody whom events or overrides name.
            administrators: as for `match`.
        """
        read = _Read(self._session, among)
        users = self.seen() if among is None else among
        return [(user, self._match(user, read, administrators=administrators)) for user in users]

    def _match(self, user: HelpdeskUser, known: _Known, *, administrators: bool) -> Match:
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
        return self._by_mail(user, known, administrators=administrators)

    def _by_mail(self, user: HelpdeskUser, known: _Known, *, administrators: bool) -> Match:
        mail = mail_key(user.email)
        if mail is None:
            return Match(None, Matching.NO_EMAIL(helpdesk_user_id=user.id))
        found_by_mail = known.with_mail(mail)
        if not found_by_mail:
            return Match(None, Matching.EMAIL_UNKNOWN(helpdesk_user_id=user.id))
        if len(found_by_mail) > 1:
            candidates = [f"{one.tracker_user_id} ({one.login})" for one in found_by_mail]
            return Match(None, Matching.EMAIL_AMBIGUOUS(helpdesk_user_id=user.id, candidates=candidates))
        found = found_by_mail[0]
        about = {"helpdesk_user_id": user.id, "login": found.login}
        if found.admin and not administrators:
            return Match(None, Matching.NO_ADMINISTRATORS(**about))
        pin = known.pin(user.id)
        if pin is not None:
            if pin.tracker_user_id != found.tracker_user_id:
                return Match(None, Matching.EMAIL_CHANGED(**about, tracker_user_id=pin.tracker_user_id))
            confirmed = pin.confirmed_at is not None
            return Match(found, Matching.BY_EMAIL(**about), confirmed=confirmed, pinned=True)
        other_id = known.whose(found.tracker_user_id, user.id)
        if other_id is not None:
            return Match(None, Matching.EMAIL_TAKEN(**about, other_id=other_id))
        return Match(found, Matching.BY_EMAIL(**about))

    def pin(self, user: HelpdeskUser | None, *, administrators: bool = True) -> Match:
        """Map a helpdesk user as `match` does, and pin a match by e-mail that is made for the first time."""
        return self._pinned(user, self.match(user, administrators=administrators), administrators)

    def pin_all(
        self, users: Iterable[HelpdeskUser], *, administrators: bool = True
    ) -> dict[tuple[int, str | None], Match]:
        """Map some helpdesk users as `pin` does one by one; return the match of each."""
        in_order = sorted(users, key=lambda one: one.id)  # two workers never wait for each other's pins
        wanted = {who(user): user for user in in_order}
        if not wanted:
            return {}
        known = _Of(self._session, wanted.values())
        return {
            key: self._pinned(user, self._match(user, known, administrators=administrators), administrators)
            for key, user in wanted.items()
        }

    def _pinned(self, user: HelpdeskUser | None, match: Match, administrators: bool) -> Match:
        if user is None or match.person is None or match.confirmed or match.pinned:
            return match
        if self._put_pin(user.id, match.person.tracker_user_id):
            return match
        return self.match(user, administrators=administrators)  # another worker was faster

    def confirm(self, helpdesk_user_id: int, tracker_user_id: int) -> None:
        """Note that a person has confirmed a match by e-mail."""
        self._put_pin(helpdesk_user_id, tracker_user_id)
        self._session.execute(
            update(UserPin)
            .where(UserPin.helpdesk_user_id == helpdesk_user_id, UserPin.tracker_user_id == tracker_user_id)
            .values(confirmed_at=clock())
        )
        note_change(self._session)

    def remove_pin(self, helpdesk_user_id: int) -> bool:
        """Forget whom a helpdesk user was matched with by e-mail; False where nobody was."""
        note_change(self._session)
        gone = delete(UserPin).where(UserPin.helpdesk_user_id == helpdesk_user_id)
        return self._session.scalar(gone.returning(UserPin.helpdesk_user_id)) is not None

    def _put_pin(self, helpdesk_user_id: int, tracker_user_id: int) -> bool:
        statement = (
            insert_for(self._session)(UserPin)
            .values(helpdesk_user_id=helpdesk_user_id, tracker_user_id=tracker_user_id, pinned_at=clock())
            .on_conflict_do_nothing()
            .returning(UserPin.helpdesk_user_id)
        )
        return self._session.scalar(statement) is not None

    def note_seen(self, users: Iterable[HelpdeskUser], noted: dict[int, str | None] | None = None) -> None:
        """Remember the helpdesk users that events name, each with the newest e-mail; mostly nothing is written.

        Args:
            users: in the order of their events.
            noted: what is known to be remembered, by id; what is found so is added, and what is written is not yet.
        """
        noted = {} if noted is None else noted
        named: dict[int, str | None] = {}
        for user in users:
            mail = UNREADABLE.sub("\ufffd", (user.email or "").strip(BLANKS))
            named[user.id] = mail or named.get(user.id)
        unknown = object()
        asked = [
            one
            for one, mail in named.items()
            if (known := noted.get(one, unknown)) is unknown or mail not in (None, known)
        ]
        if not asked:
            return
        before = dict(self._session.execute(SEEN, {"ids": asked}).all())
        for user_id in sorted(asked):  # in one order, so that two workers never wait for each other
            if user_id not in before or (named[user_id] and before[user_id] != named[user_id]):
                noted.pop(user_id, None)
                self._note(user_id, named[user_id])
            else:
                noted[user_id] = before[user_id]

    def _note(self, helpdesk_user_id: int, email: str | None) -> None:
        values = {"email": email, "seen_at": clock()}
        self._session.execute(
            insert_for(self._session)(HelpdeskPerson)
            .values(helpdesk_user_id=helpdesk_user_id, **values)
            .on_conflict_do_update(index_elements=["helpdesk_user_id"], set_=values)
        )

    def email_of(self, helpdesk_user_id: int) -> str | None:
        """Return the newest e-mail by which events have named a helpdesk user."""
        row = self._session.get(HelpdeskPerson, helpdesk_user_id)
        return row.email if row else None

    def seen(self) -> Sequence[HelpdeskUser]:
        """Return every helpdesk user that events have named, or that an override names."""
        rows = self._session.execute(select(HelpdeskPerson.helpdesk_user_id, HelpdeskPerson.email))
        named: dict[int, str | None] = dict(rows.all())
        ids = sorted({*named, *self.overrides()})
        return [HelpdeskUser.model_construct(id=one, email=named.get(one)) for one in ids]

    def remove_override(self, helpdesk_user_id: int) -> bool:
        """Delete a manual override; False where there was none."""
        note_change(self._session)
        gone = delete(UserMap).where(UserMap.helpdesk_user_id == helpdesk_user_id)
        return self._session.scalar(gone.returning(UserMap.helpdesk_user_id)) is not None

    def put_override(self, helpdesk_user_id: int, tracker_user_id: int) -> None:
        """Create or replace a manual override; one that is there already is no change."""
        putting = (
            insert_for(self._session)(UserMap)
            .values(helpdesk_user_id=helpdesk_user_id, tracker_user_id=tracker_user_id)
            .on_conflict_do_update(
                index_elements=[UserMap.helpdesk_user_id],
                set_={"tracker_user_id": tracker_user_id},
                where=UserMap.tracker_user_id != tracker_user_id,
            )
            .returning(UserMap.helpdesk_user_id)
        )
        if self._session.scalar(putting) is not None:
            note_change(self._session)

    def overrides(self, helpdesk_user_ids: Collection[int] | None = None) -> dict[int, int]:
        """Return every override, or those of some: helpdesk user id to tracker user id."""
        wanted = select(UserMap.helpdesk_user_id, UserMap.tracker_user_id)
        if helpdesk_user_ids is not None:
            wanted = wanted.where(UserMap.helpdesk_user_id.in_(helpdesk_user_ids))
        return dict(self._session.execute(wanted).all())

    def pins(self) -> dict[int, int]:
        """Return whom each helpdesk user was matched with by e-mail: helpdesk user id to tracker user id."""
        return dict(self._session.execute(select(UserPin.helpdesk_user_id, UserPin.tracker_user_id)).all())

    def cached(self) -> Sequence[TrackerPerson]:
        """Return the cache of tracker users, by login."""
        everybody = select(*TrackerUser.__table__.columns).order_by(TrackerUser.login)
        return [_person(row) for row in self._session.execute(everybody)]

    def logins(self) -> dict[int, str]:
        """Return the login of every cached tracker user, by id and in order."""
        rows = self._session.execute(
            select(TrackerUser.tracker_user_id, TrackerUser.login).order_by(TrackerUser.login)
        )
        return dict(rows.all())

    def search(self, text: str, limit: int) -> Sequence[TrackerPerson]:
        """Return some tracker users whose login, name or address has a text in it, by login."""
        statement = select(TrackerUser).order_by(TrackerUser.login).limit(limit)
        if text:
            columns = (TrackerUser.login, TrackerUser.name, TrackerUser.mail)
            statement = statement.where(
                or_(*(func.lower(one).contains(text.lower(), autoescape=True) for one in columns))
            )
        return [_person(row) for row in self._session.scalars(statement)]

    def named(self, tracker_user_ids: Iterable[int]) -> dict[int, str]:
        """Return the logins of some tracker users, by their ids."""
        wanted = select(TrackerUser.tracker_user_id, TrackerUser.login)
        return dict(
            self._session.execute(wanted.where(TrackerUser.tracker_user_id.in_(list(tracker_user_ids)))).all()
        )

    def cached_count(self) -> int:
        """Return how many tracker users are cached."""
        return self._session.scalar(select(func.count()).select_from(TrackerUser)) or 0

    def is_cached(self, tracker_user_id: int) -> bool:
        """Tell whether the cache holds a tracker user."""
        return self._session.get(TrackerUser, tracker_user_id) is not None

    def replace_cache(self, people: Iterable[TrackerPerson]) -> None:
        """Make the cache hold exactly these people, writing only differences."""
        old = {person.tracker_user_id: person for person in self.cached()}
        new = {person.tracker_user_id: person for person in people}
        gone = sorted(set(old) - set(new))
        for start in range(0, len(gone), 500):
            chunk = gone[start : start + 500]
            self._session.execute(delete(TrackerUser).where(TrackerUser.tracker_user_id.in_(chunk)))
        changed = [_values(person) for person in new.values() if old.get(person.tracker_user_id) != person]
        if changed:
            statement = insert_for(self._session)(TrackerUser)
            values = {name: statement.excluded[name] for name in changed[0] if name != "tracker_user_id"}
            self._session.execute(
                statement.on_conflict_do_update(index_elements=["tracker_user_id"], set_=values), changed
            )
            self._session.expire_all()
        if gone or changed:
            note_change(self._session)

    def forget_tracker(self) -> None:
        """Empty what was learnt from the tracker: it is another one now."""
        for table in (TrackerUser, MembershipKnown, UserPin):
            self._session.execute(delete(table))

    def is_member_known(self, tracker_project_id: int, tracker_user_id: int) -> bool:
        """Tell whether a membership was ensured before."""
        return self._session.get(MembershipKnown, (tracker_project_id, tracker_user_id)) is not None

    def members(
        self, tracker_project_ids: Collection[int], tracker_user_ids: Collection[int]
    ) -> set[tuple[int, int]]:
        """Return which memberships are known of some projects and people: (tracker project, tracker user)."""
        asked = {"projects": list(tracker_project_ids), "users": list(tracker_user_ids)}
        if not all(asked.values()):
            return set()
        return {(project_id, user_id) for project_id, user_id in self._session.execute(MEMBERS, asked)}

    def is_member(self, tracker_project_id: int | None, match: Match) -> bool:
        """Tell whether a matched person's membership was ensured before; nobody's never was."""
        if match.person is None or tracker_project_id is None:
            return False
        return self.is_member_known(tracker_project_id, match.person.tracker_user_id)

    def remember_member(self, tracker_project_id: int, tracker_user_id: int) -> None:
        """Remember that a membership is there."""
        self._session.execute(
            insert_for(self._session)(MembershipKnown)
            .values(tracker_project_id=tracker_project_id, tracker_user_id=tracker_user_id)
            .on_conflict_do_nothing()
        )

    def forget_member(self, tracker_project_id: int, tracker_user_id: int) -> None:
        """Forget a membership that the tracker's refusal made doubtful."""
        self._session.execute(
            delete(MembershipKnown).where(
                MembershipKnown.tracker_project_id == tracker_project_id,
                MembershipKnown.tracker_user_id == tracker_user_id,
            )
        )


def nobody() -> Match:
    """Return the match of nobody: none was named."""
    return Match(None, Matching.NOBODY_NAMED())


def who(user: HelpdeskUser) -> tuple[int, str | None]:
    """Return what a helpdesk user is told from others by, as events name them."""
    return user.id, user.email


def mail_key(mail: str | None) -> str | None:
    """Return an e-mail in the form in which it is compared; None where it is compared with none.

    Only printable ASCII: any other character has a look-alike, or is folded into one.
    """
    address = (mail or "").strip(BLANKS)
    return address.lower() if ADDRESS.fullmatch(address) else None


def _person(row: TrackerUser | Row[Any]) -> TrackerPerson:
    return TrackerPerson(row.tracker_user_id, row.login, row.name, row.mail, row.admin)


def _values(person: TrackerPerson) -> dict[str, object]:
    return {
        "tracker_user_id": person.tracker_user_id,
        "login": person.login,
        "name": person.name,
        "mail": person.mail,
        "admin": person.admin,
        "mail_key": mail_key(person.mail),
    }
