"""Searches of help desk users: filters, pages and counts, with the match of each user computed in SQL.

The SQL agrees with `People.match`, so that a page need not match everyone; `match` is used for the rows of a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, Text, and_, case, cast, false, func, literal, null, or_, select, true
from sqlalchemy.orm import Session, aliased

from shared.events.snapshots import HelpdeskUser
from shared.store.tables.configuration import (
    HelpdeskPerson,
    TrackerUser,
    UserMap,
    UserPin,
)
from shared.store.tables.functions import size_of


class Everybody(NamedTuple):
    """Numbers of all help desk users, and of those matched by e-mail but not confirmed."""

    total: int
    new: int


class PeopleSearch:
    """Searches the help desk users within one transaction.

    Args:
        session: the transaction.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def page(
        self, *, find: str = "", only: str = "", administrators: bool = True, limit: int, after: int = 0
    ) -> tuple[Sequence[HelpdeskUser], Everybody]:
        """Return a page of help desk users, and the numbers of all of them.

        Users without a tracker user come first, then users whose match is not confirmed.

        Args:
            find: text that their number, e-mail or login contains.
            only: `unmatched` or `new`; else all.
            administrators: as for `People.match`.
            limit: how many.
            after: how many to skip before them.
        """
        one = _matched(administrators=administrators).cte("matched")
        new = func.coalesce(func.sum(case((one.c.is_new, 1), else_=0)), 0)
        counted = select(func.count().label("total"), new.label("new")).select_from(one).subquery()
        wanted = select(one.c.helpdesk_user_id, one.c.email)
        if find:
            number = cast(one.c.helpdesk_user_id, Text)
            text = number + " " + func.coalesce(one.c.email, "") + " " + func.coalesce(one.c.login, "")
            wanted = wanted.where(func.lower(text).contains(find.lower(), autoescape=True))
        if only == "unmatched":
            wanted = wanted.where(one.c.login.is_(None), ~one.c.is_mapped)
        if only == "new":
            wanted = wanted.where(one.c.is_new)
        order = (one.c.login.is_not(None), ~one.c.is_new, one.c.helpdesk_user_id)
        page = wanted.order_by(*order).offset(after).limit(limit)
        place = func.row_number().over(order_by=order).label("place")
        shown = page.add_columns(place).subquery()
        rows = self._session.execute(
            select(counted.c.total, counted.c.new, shown.c.helpdesk_user_id, shown.c.email)
            .select_from(counted)
            .outerjoin(shown, true())
            .order_by(shown.c.place)
        ).all()
        users = [
            HelpdeskUser.model_construct(id=number, email=email)
            for _, _, number, email in rows
            if number is not None
        ]
        return users, Everybody(rows[0].total, rows[0].new)


def _matched(*, administrators: bool) -> Select[Any]:
    """Return the query for every help desk user with the login of their tracker user, and how it was found.

    Each table is read by an index, so that the query is fast whatever statistics the database has.
    """
    everybody = _everybody().subquery()
    number, email = everybody.c.helpdesk_user_id, everybody.c.email
    mapped, by_mail, other, pinned = (aliased(TrackerUser) for _ in range(4))
    is_plain = size_of(email) == func.length(email)  # only for ASCII do all databases fold the case alike
    same_mail = (other.mail_key == by_mail.mail_key, other.tracker_user_id != by_mail.tracker_user_id)
    is_alone = ~select(other.tracker_user_id).where(*same_mail).exists()
    is_taken = or_(
        *(
            select(table.helpdesk_user_id)
            .where(table.tracker_user_id == by_mail.tracker_user_id)
            .correlate(by_mail)
            .exists()
            for table in (aliased(UserMap), aliased(UserPin))
        )
    )
    is_mapped = UserMap.helpdesk_user_id.is_not(None)
    is_matched = case(
        (is_mapped | by_mail.tracker_user_id.is_(None), false()),
        (by_mail.admin & literal(not administrators), false()),
        (UserPin.helpdesk_user_id.is_not(None), UserPin.tracker_user_id == by_mail.tracker_user_id),
        else_=~is_taken,
    )
    has_mail = select(other.tracker_user_id).where(other.mail_key == func.lower(email)).exists()
    is_allowed = ~(pinned.admin & literal(not administrators))
    is_kept = and_(pinned.tracker_user_id.is_not(None), ~is_mapped, is_allowed, is_plain, ~has_mail)
    by_address = ((is_matched, by_mail.login), (is_kept, pinned.login))
    return (
        select(
            number,
            email,
            is_mapped.label("is_mapped"),
            case((is_mapped, mapped.login), *by_address, else_=null()).label("login"),
            and_(or_(is_matched, is_kept), UserPin.confirmed_at.is_(None)).label("is_new"),
        )
        .select_from(everybody)
        .outerjoin(UserMap, UserMap.helpdesk_user_id == number)
        .outerjoin(mapped, mapped.tracker_user_id == UserMap.tracker_user_id)
        .outerjoin(by_mail, and_(is_plain, by_mail.mail_key == func.lower(email), is_alone))
        .outerjoin(UserPin, UserPin.helpdesk_user_id == number)
        .outerjoin(
            pinned, and_(UserPin.is_additional.is_(True), pinned.tracker_user_id == UserPin.tracker_user_id)
        )
    )


def _everybody() -> Select[Any]:
    """Return the query for the users in events or user mappings."""
    named = select(HelpdeskPerson.helpdesk_user_id, HelpdeskPerson.email)
    is_named = select(HelpdeskPerson.helpdesk_user_id).where(
        HelpdeskPerson.helpdesk_user_id == UserMap.helpdesk_user_id
    )
    mapped = select(UserMap.helpdesk_user_id, cast(null(), Text)).where(~is_named.exists())
    found = named.union_all(mapped).subquery()
    return select(found.c.helpdesk_user_id, found.c.email)
