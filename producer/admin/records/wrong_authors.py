"""Counts of issues and time entries with the wrong author, by reason; the reason names the intended author."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Text, and_, case, false, func, or_, select, type_coerce
from sqlalchemy.orm import Session, aliased

from producer.admin.records.logged_hours import logged_hours
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.store.ledger.misattributed import wrong_authors
from shared.store.tables.configuration import HelpdeskPerson, TrackerUser, UserMap, UserPin
from shared.store.tables.explained import reason_from_columns
from shared.store.tables.ledger import Misattributed, TaskTimeLink, TicketIssueLink

NEWEST = 10_000
"""Number of newest wrong authors that are counted, so that a page answers soon."""

NEWEST_FIRST = (Misattributed.at.desc(), Misattributed.kind.desc(), Misattributed.key.desc())
IS_ENTRY = Misattributed.kind == str(Kind.TICKET_TASK)
PARAMS = type_coerce(Misattributed.params, Text)


class Counted(NamedTuple):
    """Counts of wrong authors for one reason.

    Attributes:
        stored: the reason as it is stored: code and parameters.
        hours: hours of the time entries, as far as they are known.
        since: when the oldest was noticed.
    """

    stored: tuple[str | None, str | None]
    issues: int
    entries: int
    hours: float
    since: datetime

    @property
    def why(self) -> Notice | None:
        """The reason."""
        code, params = self.stored
        return reason_from_columns(code, json.loads(params) if params else None)


class WrongAuthors:
    """Searches the issues and time entries with the wrong author, within one transaction.

    Args:
        session: the transaction.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def by_reason(self) -> list[Counted]:
        """Return the counts of the NEWEST wrong authors by reason."""
        reason = (Misattributed.code, PARAMS.label("params"))
        noted = wrong_authors().with_only_columns(
            *reason, Misattributed.kind, Misattributed.key, Misattributed.at
        )
        newest = noted.order_by(*NEWEST_FIRST).limit(NEWEST).subquery()
        is_entry = newest.c.kind == str(Kind.TICKET_TASK)
        is_issue = newest.c.kind == str(Kind.TICKET)
        stored = (newest.c.code, newest.c.params)
        hours = func.sum(logged_hours(type_coerce(TaskTimeLink.body, Text)))
        statement = (
            select(
                *stored,
                func.sum(case((is_issue, 1), else_=0)),
                func.sum(case((is_entry, 1), else_=0)),
                func.coalesce(hours, 0.0),
                func.min(newest.c.at),
            )
            .outerjoin(TaskTimeLink, and_(is_entry, TaskTimeLink.task_id == newest.c.key))
            .group_by(*stored)
        )
        return [Counted(tuple(found[:2]), *found[2:]) for found in self._session.execute(statement)]

    def page(
        self, reasons: Collection[Counted], *, limit: int, after: int = 0
    ) -> list[tuple[Misattributed, int | None]]:
        """Return a page of wrong authors for some reasons, newest first, each with the author's id in Redmine.

        Args:
            reasons: the reasons.
            limit: how many.
            after: how many to skip before them.
        """
        issue, entry = (
            aliased(TicketIssueLink),
            aliased(TaskTimeLink),
        )  # aliased, as the condition also uses these tables
        author_id = func.coalesce(issue.author_id, entry.author_id)
        is_issue = Misattributed.kind == str(Kind.TICKET)
        statement = (
            wrong_authors()
            .with_only_columns(Misattributed, author_id)
            .select_from(Misattributed)
            .outerjoin(issue, and_(is_issue, issue.ticket_id == Misattributed.key))
            .outerjoin(entry, and_(IS_ENTRY, entry.task_id == Misattributed.key))
            .where(_is_for(reasons))
        )
        newest = statement.order_by(*NEWEST_FIRST).offset(after).limit(limit)
        return [(one, author_id) for one, author_id in self._session.execute(newest)]

    def entries(self, reasons: Collection[Counted], limit: int) -> Sequence[int]:
        """Return the ticket tasks whose time entries have the wrong author for some reasons, oldest first."""
        statement = wrong_authors().where(IS_ENTRY, _is_for(reasons))
        return self._session.scalars(
            statement.order_by(Misattributed.at, Misattributed.key).limit(limit)
        ).all()

    def hours(self, task_ids: Collection[int]) -> dict[int, float]:
        """Return the hours of some ticket tasks' time entries, as far as they are known."""
        wanted = select(TaskTimeLink.task_id, logged_hours(type_coerce(TaskTimeLink.body, Text)))
        rows = self._session.execute(wanted.where(TaskTimeLink.task_id.in_(task_ids)))
        return {task_id: hours for task_id, hours in rows if hours is not None}

    def helpdesk_users(self, logins: Collection[str]) -> dict[str, int]:
        """Return the GLPI user of each Redmine user, by login; users matched with none or several are left out."""
        found: dict[str, set[int]] = {}
        for model in (UserMap, UserPin):
            wanted = select(TrackerUser.login, model.helpdesk_user_id).join(
                model, model.tracker_user_id == TrackerUser.tracker_user_id
            )
            for login, helpdesk_user_id in self._session.execute(wanted.where(TrackerUser.login.in_(logins))):
                found.setdefault(login, set()).add(helpdesk_user_id)
        return {login: min(ids) for login, ids in found.items() if len(ids) == 1}

    def emails(self, helpdesk_user_ids: Collection[int]) -> dict[int, str]:
        """Return the newest e-mails of some GLPI users."""
        wanted = select(HelpdeskPerson.helpdesk_user_id, HelpdeskPerson.email)
        rows = self._session.execute(wanted.where(HelpdeskPerson.helpdesk_user_id.in_(helpdesk_user_ids)))
        return {number: email for number, email in rows if email}


def _is_for(reasons: Collection[Counted]) -> ColumnElement[bool]:
    columns = (Misattributed.code, PARAMS)
    return or_(
        false(),
        *(
            and_(
                *(
                    column.is_not_distinct_from(value)
                    for column, value in zip(columns, one.stored, strict=True)
                )
            )
            for one in reasons
        ),
    )
