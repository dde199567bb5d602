"""People: user mappings, pinned matches, help desk users in events, cached tracker users, known memberships."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import cast

from sqlalchemy import Table, bindparam, delete, func, or_, select, union_all, update
from sqlalchemy.orm import Session

from shared.events.snapshots import HelpdeskUser
from shared.store.configuration.basis import note_change
from shared.store.configuration.matching import (
    BLANKS,
    KnownPeople,
    Match,
    TrackerPerson,
    mail_key,
    match_user,
    nobody,
    person_of,
    who,
)
from shared.store.tables.configuration import HelpdeskPerson, MembershipKnown, TrackerUser, UserMap, UserPin
from shared.store.tables.types import clock, insert_for, put_row

UNREADABLE = re.compile(r"[\x00-\x1f\x7f]")

SEEN_BEFORE, MEMBER = cast(Table, HelpdeskPerson.__table__), cast(Table, MembershipKnown.__table__)
SEEN = select(SEEN_BEFORE.c.helpdesk_user_id, SEEN_BEFORE.c.email, SEEN_BEFORE.c.is_requester).where(
    SEEN_BEFORE.c.helpdesk_user_id.in_(bindparam("ids", expanding=True))
)
Seen = tuple[str | None, bool]
"""What is stored of a help desk user: the newest e-mail, and whether events name the user only as a requester."""
MEMBERS = select(MEMBER.c.tracker_project_id, MEMBER.c.tracker_user_id).where(
    MEMBER.c.tracker_user_id.in_(bindparam("users", expanding=True)),
    MEMBER.c.tracker_project_id.in_(bindparam("projects", expanding=True)),
)


class People:
    """Matches people, and reads and writes their stored data, within one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def match(self, user: HelpdeskUser | None, *, administrators: bool = True) -> Match:
        """Match a help desk user with a tracker user.

        Args:
            user: the help desk user; None if none was named.
            administrators: whether the tracker's administrators are matched by e-mail.
        """
        if user is None:
            return nobody()
        return match_user(user, KnownPeople(self._session, [user]), administrators=administrators)

    def match_all(
        self, among: Sequence[HelpdeskUser] | None = None, *, administrators: bool = True
    ) -> list[tuple[HelpdeskUser, Match]]:
        """Match several help desk users, each as `match` does, reading each table once.

        Args:
            among: the help desk users; None matches all who are named in events or user mappings.
            administrators: as for `match`.
        """
        known = KnownPeople(self._session, among)
        users = self.seen() if among is None else among
        return [(user, match_user(user, known, administrators=administrators)) for user in users]

    def pin(self, user: HelpdeskUser | None, *, administrators: bool = True) -> Match:
        """Match a help desk user as `match` does, and pin the first match by e-mail."""
        return self._pinned(user, self.match(user, administrators=administrators), administrators)

    def pin_all(
        self, users: Iterable[HelpdeskUser], *, administrators: bool = True
    ) -> dict[tuple[int, str | None], Match]:
        """Match and pin some help desk users, each as `pin` does; return the matches by user."""
        in_order = sorted(users, key=lambda one: one.id)  # so that two workers never deadlock
        wanted = {who(user): user for user in in_order}
        if not wanted:
            return {}
        known = KnownPeople(self._session, wanted.values())
        return {
            key: self._pinned(user, match_user(user, known, administrators=administrators), administrators)
            for key, user in wanted.items()
        }

    def _pinned(self, user: HelpdeskUser | None, match: Match, administrators: bool) -> Match:
        if user is None or match.person is None or match.confirmed or match.pinned:
            return match
        if self._put_pin(user.id, match.person.tracker_user_id, is_additional=match.is_additional):
            return match
        return self.match(user, administrators=administrators)  # another worker was faster

    def pin_additional(self, helpdesk_user_id: int, tracker_user_id: int) -> None:
        """Pin the tracker user who has a help desk user's address as an additional one, unless they are another's."""
        others = [
            select(table.helpdesk_user_id).where(
                table.tracker_user_id == tracker_user_id, table.helpdesk_user_id != helpdesk_user_id
            )
            for table in (UserMap, UserPin)
        ]
        if self._session.execute(union_all(*others)).first() is None:
            self._put_pin(helpdesk_user_id, tracker_user_id, is_additional=True)
            note_change(self._session)

    def confirm(self, helpdesk_user_id: int, tracker_user_id: int) -> None:
        """Record that a person has confirmed a match by e-mail."""
        self._put_pin(helpdesk_user_id, tracker_user_id)
        self._session.execute(
            update(UserPin)
            .where(UserPin.helpdesk_user_id == helpdesk_user_id, UserPin.tracker_user_id == tracker_user_id)
            .values(confirmed_at=clock())
        )
        note_change(self._session)

    def remove_pin(self, helpdesk_user_id: int) -> bool:
        """Delete the pinned match of a help desk user; return False if there was none."""
        note_change(self._session)
        gone = delete(UserPin).where(UserPin.helpdesk_user_id == helpdesk_user_id)
        return self._session.scalar(gone.returning(UserPin.helpdesk_user_id)) is not None

    def _put_pin(
        self, helpdesk_user_id: int, tracker_user_id: int, *, is_additional: bool | None = None
    ) -> bool:
        statement = (
            insert_for(self._session)(UserPin)
            .values(
                helpdesk_user_id=helpdesk_user_id,
                tracker_user_id=tracker_user_id,
                pinned_at=clock(),
                is_additional=is_additional,
            )
            .on_conflict_do_nothing()
            .returning(UserPin.helpdesk_user_id)
        )
        return self._session.scalar(statement) is not None

    def note_seen(
        self,
        users: Iterable[HelpdeskUser],
        noted: dict[int, Seen] | None = None,
        requesters: Collection[int] = (),
    ) -> None:
        """Store help desk users named in events, each with the newest e-mail; usually nothing is written.

        Args:
            users: the users, in the order of their events.
            noted: what is known to be stored, by user id. What is read here is added; what is written here is not,
                since the transaction may fail.
            requesters: ids of those of the users who are only requesters here.
        """
        noted = {} if noted is None else noted
        named: dict[int, Seen] = {}
        for user in users:
            mail = UNREADABLE.sub("\ufffd", (user.email or "").strip(BLANKS))
            before, _ = named.get(user.id, (None, False))
            named[user.id] = (mail or before, user.id in requesters)
        asked = [one for one, new in named.items() if one not in noted or _differs(new, noted[one])]
        if not asked:
            return
        rows = self._session.execute(SEEN, {"ids": asked})
        stored: dict[int, Seen] = {row[0]: (row[1], bool(row[2])) for row in rows}
        for user_id in sorted(asked):  # in one order, so that two workers never deadlock
            new, old = named[user_id], stored.get(user_id)
            if old is not None and not _differs(new, old):
                noted[user_id] = old
                continue
            noted.pop(user_id, None)
            email = new[0] or (old[0] if old else None)
            self._note(user_id, email, new[1] and (old is None or old[1]))

    def _note(self, helpdesk_user_id: int, email: str | None, is_requester: bool) -> None:
        values = {"email": email, "is_requester": is_requester, "seen_at": clock()}
        put_row(self._session, HelpdeskPerson, {"helpdesk_user_id": helpdesk_user_id}, values)

    def requesters(self) -> set[int]:
        """Return the help desk users whom events name only as requesters."""
        wanted = select(HelpdeskPerson.helpdesk_user_id).where(HelpdeskPerson.is_requester.is_(True))
        return set(self._session.scalars(wanted))

    def email_of(self, helpdesk_user_id: int) -> str | None:
        """Return the newest e-mail of a help desk user in any event, or None."""
        row = self._session.get(HelpdeskPerson, helpdesk_user_id)
        return row.email if row else None

    def seen(self) -> Sequence[HelpdeskUser]:
        """Return every help desk user who is named in events or user mappings."""
        rows = self._session.execute(select(HelpdeskPerson.helpdesk_user_id, HelpdeskPerson.email))
        named: dict[int, str | None] = dict(rows.all())
        ids = sorted({*named, *self.overrides()})
        return [HelpdeskUser.model_construct(id=one, email=named.get(one)) for one in ids]

    def remove_override(self, helpdesk_user_id: int) -> bool:
        """Delete a user mapping; return False if there was none."""
        note_change(self._session)
        gone = delete(UserMap).where(UserMap.helpdesk_user_id == helpdesk_user_id)
        return self._session.scalar(gone.returning(UserMap.helpdesk_user_id)) is not None

    def put_override(self, helpdesk_user_id: int, tracker_user_id: int) -> None:
        """Create or replace a user mapping; if it exists already, this is not a change."""
        values, differs = {"tracker_user_id": tracker_user_id}, UserMap.tracker_user_id != tracker_user_id
        if put_row(self._session, UserMap, {"helpdesk_user_id": helpdesk_user_id}, values, differs):
            note_change(self._session)

    def overrides(self, helpdesk_user_ids: Collection[int] | None = None) -> dict[int, int]:
        """Return all user mappings, or those of some help desk users: help desk user id to tracker user id."""
        wanted = select(UserMap.helpdesk_user_id, UserMap.tracker_user_id)
        if helpdesk_user_ids is not None:
            wanted = wanted.where(UserMap.helpdesk_user_id.in_(helpdesk_user_ids))
        return dict(self._session.execute(wanted).all())

    def pins(self) -> dict[int, int]:
        """Return all pinned matches: help desk user id to tracker user id."""
        return dict(self._session.execute(select(UserPin.helpdesk_user_id, UserPin.tracker_user_id)).all())

    def cached(self) -> Sequence[TrackerPerson]:
        """Return the cached tracker users, ordered by login."""
        everybody = select(*TrackerUser.__table__.columns).order_by(TrackerUser.login)
        return [person_of(row) for row in self._session.execute(everybody)]

    def logins(self) -> dict[int, str]:
        """Return the login of every cached tracker user by id, ordered by login."""
        rows = self._session.execute(
            select(TrackerUser.tracker_user_id, TrackerUser.login).order_by(TrackerUser.login)
        )
        return dict(rows.all())

    def search(self, text: str, limit: int) -> Sequence[TrackerPerson]:
        """Return at most `limit` tracker users whose login, name or e-mail contains a text, ordered by login."""
        statement = select(TrackerUser).order_by(TrackerUser.login).limit(limit)
        if text:
            columns = (TrackerUser.login, TrackerUser.name, TrackerUser.mail)
            statement = statement.where(
                or_(*(func.lower(one).contains(text.lower(), autoescape=True) for one in columns))
            )
        return [person_of(row) for row in self._session.scalars(statement)]

    def named(self, tracker_user_ids: Iterable[int]) -> dict[int, str]:
        """Return the logins of some tracker users, by their ids."""
        wanted = select(TrackerUser.tracker_user_id, TrackerUser.login)
        return dict(
            self._session.execute(wanted.where(TrackerUser.tracker_user_id.in_(list(tracker_user_ids)))).all()
        )

    def cached_count(self) -> int:
        """Return the number of cached tracker users."""
        return self._session.scalar(select(func.count()).select_from(TrackerUser)) or 0

    def is_cached(self, tracker_user_id: int) -> bool:
        """Return whether the cache holds a tracker user."""
        return self._session.get(TrackerUser, tracker_user_id) is not None

    def replace_cache(self, people: Iterable[TrackerPerson]) -> None:
        """Replace the cached tracker users, writing only differences."""
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
        """Delete cached users, memberships and pinned matches, because deskbridge now uses another tracker."""
        for table in (TrackerUser, MembershipKnown, UserPin):
            self._session.execute(delete(table))

    def is_member_known(self, tracker_project_id: int, tracker_user_id: int) -> bool:
        """Return whether a membership was ensured before."""
        return self._session.get(MembershipKnown, (tracker_project_id, tracker_user_id)) is not None

    def members(
        self, tracker_project_ids: Collection[int], tracker_user_ids: Collection[int]
    ) -> set[tuple[int, int]]:
        """Return the known memberships of some people in some projects, as (tracker project, tracker user)."""
        asked = {"projects": list(tracker_project_ids), "users": list(tracker_user_ids)}
        if not all(asked.values()):
            return set()
        return {(project_id, user_id) for project_id, user_id in self._session.execute(MEMBERS, asked)}

    def is_member(self, tracker_project_id: int | None, match: Match) -> bool:
        """Return whether a matched person's membership was ensured before; False if no one was matched."""
        if match.person is None or tracker_project_id is None:
            return False
        return self.is_member_known(tracker_project_id, match.person.tracker_user_id)

    def remember_member(self, tracker_project_id: int, tracker_user_id: int) -> None:
        """Store that a membership exists."""
        self._session.execute(
            insert_for(self._session)(MembershipKnown)
            .values(tracker_project_id=tracker_project_id, tracker_user_id=tracker_user_id)
            .on_conflict_do_nothing()
        )

    def forget_member(self, tracker_project_id: int, tracker_user_id: int) -> None:
        """Delete a known membership that is doubtful because the tracker refused a request."""
        self._session.execute(
            delete(MembershipKnown).where(
                MembershipKnown.tracker_project_id == tracker_project_id,
                MembershipKnown.tracker_user_id == tracker_user_id,
            )
        )


def _values(person: TrackerPerson) -> dict[str, object]:
    return {
        "tracker_user_id": person.tracker_user_id,
        "login": person.login,
        "name": person.name,
        "mail": person.mail,
        "admin": person.admin,
        "mail_key": mail_key(person.mail),
    }


def _differs(new: Seen, old: Seen) -> bool:
    """Return whether an event says something new about a help desk user."""
    return new[0] not in (None, old[0]) or (old[1] and not new[1])
