"""The hours report: a month's hours of each person in GLPI and in Redmine, and why they differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

from producer.admin.presenters.shapes import Answer
from producer.admin.presenters.spreadsheets import csv_line
from producer.admin.queries.redmine_hours import READ_S, TimeEntry, month_of, time_entries_of
from producer.admin.records.known_hours import KnownTask, Logged
from producer.admin.records.transaction import Transaction
from producer.admin.services import Services
from shared.errors import SettingsError, TrackerError
from shared.events.authors import whose_hours
from shared.events.config import PluginConfig
from shared.events.snapshots import HelpdeskUser
from shared.notices.language import N_
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.render import sentence
from shared.store.configuration.matching import TrackerPerson
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerState
from shared.values.ids import id_in
from shared.values.listed_hours import hours_listed_for

BEFORE, AFTER = timedelta(days=7), timedelta(days=45)
"""Time before and after a month in which its events are searched."""

SAME = 0.0051
"""Largest difference between GLPI and what was sent that counts as none: a template can round to two decimals."""


class Why(StrEnum):
    """Why hours differ."""

    EDITED_IN_GLPI = "edited_in_glpi"
    EDITED_IN_REDMINE = "edited_in_redmine"
    NOT_IN_REDMINE = "not_in_redmine"
    DELETED_IN_GLPI = "deleted_in_glpi"
    OTHER_NAME = "other_name"
    ON_HOLD = "on_hold"
    NO_MAPPING = "no_mapping"
    SKIPPED = "skipped"
    FAILED = "failed"
    WAITING = "waiting"


WORDS = {
    Why.EDITED_IN_GLPI: N_("edited later in GLPI"),
    Why.EDITED_IN_REDMINE: N_("edited later in Redmine"),
    Why.NOT_IN_REDMINE: N_("not in Redmine in this month"),
    Why.DELETED_IN_GLPI: N_("deleted in GLPI"),
    Why.OTHER_NAME: N_("under another name"),
    Why.ON_HOLD: N_("on hold"),
    Why.NO_MAPPING: N_("skipped: no mapping"),
    Why.SKIPPED: N_("skipped"),
    Why.FAILED: N_("failed"),
    Why.WAITING: N_("not sent yet"),
}
NO_MAPPING = (Reason.NO_LINK,)


class Difference(Answer):
    """A ticket task whose hours differ."""

    ticket_id: int
    task_id: int
    time_entry_id: int | None
    person: str
    glpi_hours: float
    redmine_hours: float
    why: Why


class PersonHours(Answer):
    """The hours of a person in a month.

    `redmine_hours`: hours that deskbridge logged under the person's name. `other_hours`: hours that the person logged
    directly in Redmine; null if Redmine was not read. `reasons`: why hours differ, with the hours for each reason.
    """

    person: str
    helpdesk_user_id: int | None
    tracker_user_id: int | None
    glpi_hours: float
    redmine_hours: float
    difference: float
    other_hours: float | None
    reasons: dict[Why, float]


class HoursReport(Answer):
    """The hours of a month.

    `live`: whether Redmine was read. If not, `why_not_live` is the reason, and `redmine_hours` come from the ledger.
    """

    month: str
    live: bool
    why_not_live: str | None
    people: list[PersonHours]
    differences: list[Difference]


Key = tuple[str, int]


@dataclass(slots=True)
class _Sum:
    person: str = ""
    helpdesk_user_id: int | None = None
    tracker_user_id: int | None = None
    glpi: float = 0.0
    redmine: float = 0.0
    other: float = 0.0
    reasons: dict[Why, float] = field(default_factory=lambda: defaultdict(float))


@dataclass(slots=True)
class _Month:
    """The data from which a report is made."""

    tasks: dict[int, KnownTask]
    logged: dict[int, Logged]
    people: dict[int, TrackerPerson | None]
    config: PluginConfig


def hours_of(services: Services, month: str, seconds: float = READ_S) -> HoursReport:
    """Return the hours of a month by person, read from Redmine, or from the ledger if Redmine cannot be read.

    Args:
        services: the collaborators.
        month: such as `2026-11`.
        seconds: time limit for reading Redmine.

    Raises:
        ValueError: if `month` is no month.
    """
    month_of(month)
    with services.store.transaction() as tx:
        known = _known(tx, month)
    entries: Mapping[int, TimeEntry] | None = None
    problem: Notice | None = None
    try:
        entries = {one.id: one for one in time_entries_of(services.connector.connect, month, seconds)}
    except (TrackerError, SettingsError) as failure:
        problem = failure.notice
    if entries is not None:
        with services.store.transaction() as tx:
            by_entry = tx.known_hours.of_entries([*entries])
    else:
        by_entry = {}
    return _Comparison(services, known, entries, by_entry).report(month, problem)


def _known(tx: Transaction, month: str) -> _Month:
    first, last = month_of(month)
    since = datetime(first.year, first.month, first.day, tzinfo=UTC) - BEFORE
    until = datetime(last.year, last.month, last.day, tzinfo=UTC) + AFTER
    config, _ = tx.configs.get()
    newest: dict[int, KnownTask] = {}
    deleted: dict[int, KnownTask] = {}
    for one in tx.known_hours.tasks(since, until, by_day_of_work=config.spent_on == "task_date"):
        of_kind = deleted if one.is_deleted else newest
        before = of_kind.get(one.task_id)
        if before is None or before.place < one.place:
            of_kind[one.task_id] = one
    for task_id, one in deleted.items():
        if task_id in newest and newest[task_id].place < one.place:
            newest[task_id] = newest[task_id]._replace(is_deleted=True)
    logged = tx.known_hours.of_tasks(newest.keys())
    tasks = {key: one for key, one in newest.items() if one.day.startswith(month) and not _is_copy(one)}
    authors = {author["id"]: author for one in tasks.values() if (author := _author(one, config))}
    asked = [
        HelpdeskUser.model_construct(id=number, email=author.get("email"))
        for number, author in authors.items()
    ]
    matches = tx.people.match_all(asked, administrators=config.match_administrators)
    return _Month(tasks, logged, {user.id: match.person for user, match in matches}, config)


class _Comparison:
    """Compares the tasks of a month with its time entries.

    Args:
        services: provide names.
        known: the month as GLPI has it.
        entries: the month as Redmine has it; None if Redmine was not read.
        by_entry: ledger rows of these entries, by entry.
    """

    def __init__(
        self,
        services: Services,
        known: _Month,
        entries: Mapping[int, TimeEntry] | None,
        by_entry: Mapping[int, Logged],
    ) -> None:
        self._names, self._known = services.names, known
        self._entries, self._by_entry = entries, by_entry
        self._sums: dict[Key, _Sum] = {}
        self._differences: list[Difference] = []

    def report(self, month: str, problem: Notice | None) -> HoursReport:
        """Return the report."""
        compared = set()
        for task in self._known.tasks.values():
            row = self._known.logged.get(task.task_id)
            compared.add(row.time_entry_id if row else None)
            self._compare(task, row)
        for entry in (self._entries or {}).values():
            if entry.id not in compared:
                self._only_in_redmine(entry, self._by_entry.get(entry.id))
        people = [self._shown(one) for one in self._sums.values() if one.glpi or one.redmine]
        return HoursReport(
            month=month,
            live=problem is None,
            why_not_live=sentence(problem) if problem else None,
            people=sorted(people, key=lambda one: one.person.casefold()),
            differences=sorted(self._differences, key=lambda one: (one.person.casefold(), one.task_id)),
        )

    def _compare(self, task: KnownTask, row: Logged | None) -> None:
        author = _author(task, self._known.config)
        number = author["id"] if author else None
        person = self._known.people.get(number) if number else None
        found = self._sum(number, person)
        is_done = task.task.get("state") == self._known.config.done_state and not task.is_deleted
        known = max(0, _seconds(task)) / 3600 if is_done else 0.0
        found.glpi += known
        is_linked = row is not None and row.state == LedgerState.LINKED
        if row is None or not is_linked:
            if known:
                self._differs(found, task, None, known, 0.0, _why_not_logged(task, row))
            return
        has, author_id = self._in_redmine(row, known)
        if has is None:
            if not known:
                return
            self._differs(found, task, row, known, 0.0, Why.NOT_IN_REDMINE)
            return
        if author_id is not None and (person is None or author_id != person.tracker_user_id):
            other = self._sum(None, None, author_id)
            other.redmine += has
            other.reasons[Why.OTHER_NAME] -= has
            self._differs(found, task, row, known, 0.0, Why.OTHER_NAME)
            return
        found.redmine += has
        is_as_sent = has == row.hours
        if (abs(has - known) > SAME) if is_as_sent else has != known:
            edited = Why.EDITED_IN_GLPI if is_as_sent else Why.EDITED_IN_REDMINE
            self._differs(found, task, row, known, has, Why.DELETED_IN_GLPI if task.is_deleted else edited)

    def _in_redmine(self, row: Logged, known: float) -> tuple[float | None, int | None]:
        """Return the hours and the author of a time entry; None for both if Redmine does not have it in this month."""
        if self._entries is None:
            return row.hours or 0.0, row.author_id
        entry = self._entries.get(row.time_entry_id or 0)
        return (_exact(entry.hours, row.hours, known), entry.user_id) if entry else (None, None)

    def _only_in_redmine(self, entry: TimeEntry, row: Logged | None) -> None:
        """Count a time entry without a ticket task of the month."""
        found = self._sum(None, None, entry.user_id, entry.user)
        if row is None:
            found.other += entry.hours
            return
        has = _exact(entry.hours, row.hours)
        found.redmine += has
        moved = row.task_id in self._known.logged
        if moved:  # its event is known but belongs to another month now
            self._differs(found, row, row, 0.0, has, Why.EDITED_IN_GLPI)
        else:  # its events were pruned: the sent hours count as GLPI's
            sent = has if row.hours is None else row.hours
            found.glpi += sent
            if sent != has:
                self._differs(found, row, row, sent, has, Why.EDITED_IN_REDMINE)

    def _sum(
        self,
        helpdesk_user_id: int | None,
        person: TrackerPerson | None,
        user_id: int | None = None,
        name: str = "",
    ) -> _Sum:
        """Return the sums of a person, by the Redmine user if there is one."""
        user_id = person.tracker_user_id if person else user_id
        key = ("user", user_id) if user_id else ("person", helpdesk_user_id or 0)
        found = self._sums.setdefault(key, _Sum(tracker_user_id=user_id))
        found.helpdesk_user_id = found.helpdesk_user_id or helpdesk_user_id
        called = self._names.name("person", helpdesk_user_id) if helpdesk_user_id else None
        of_redmine = (
            (person.name if person else "") or name or (self._names.name("user", user_id) if user_id else "")
        )
        found.person = (
            of_redmine or found.person or called or (f"#{helpdesk_user_id}" if helpdesk_user_id else "")
        )
        return found

    def _differs(
        self, found: _Sum, task: KnownTask | Logged, row: Logged | None, glpi: float, redmine: float, why: Why
    ) -> None:
        found.reasons[why] += glpi - redmine
        self._differences.append(
            Difference(
                ticket_id=task.ticket_id,
                task_id=task.task_id,
                time_entry_id=row.time_entry_id if row else None,
                person=found.person,
                glpi_hours=round(glpi, 2),
                redmine_hours=round(redmine, 2),
                why=why,
            )
        )

    def _shown(self, one: _Sum) -> PersonHours:
        return PersonHours(
            person=one.person,
            helpdesk_user_id=one.helpdesk_user_id,
            tracker_user_id=one.tracker_user_id,
            glpi_hours=round(one.glpi, 2),
            redmine_hours=round(one.redmine, 2),
            difference=round(one.glpi - one.redmine, 2) + 0.0,  # not -0.0
            other_hours=None if self._entries is None else round(one.other, 2),
            reasons={why: round(hours, 2) for why, hours in one.reasons.items() if round(hours, 2)},
        )


def hours_csv(report: HoursReport) -> Iterator[str]:
    """Yield a report as lines of CSV: one for each person, with a column for each reason."""
    yield csv_line(
        ("month", "person", "glpi_user_id", "redmine_user_id", "glpi_hours", "redmine_hours", "difference",
         "other_redmine_hours", "redmine_was_read", *Why)
    )  # fmt: skip
    for one in report.people:
        numbers = (one.glpi_hours, one.redmine_hours, one.difference, one.other_hours)
        reasons: Iterable[Any] = (one.reasons.get(why) for why in Why)
        yield csv_line(
            (
                report.month,
                one.person,
                one.helpdesk_user_id,
                one.tracker_user_id,
                *numbers,
                report.live,
                *reasons,
            )
        )


def differences_csv(report: HoursReport) -> Iterator[str]:
    """Yield the ticket tasks whose hours differ as lines of CSV."""
    columns = tuple(Difference.model_fields)
    yield csv_line(("month", *columns))
    for one in report.differences:
        yield csv_line((report.month, *(getattr(one, name) for name in columns)))


def _exact(listed: float, *possible: float | None) -> float:
    """Return the hours that the tracker rounded before it listed them; if none of the possible ones, as listed."""
    same = (hours for hours in possible if Decimal(str(listed)) in hours_listed_for(hours))
    return next((hours for hours in same if hours is not None), listed)


def _why_not_logged(task: KnownTask, row: Logged | None) -> Why:
    """Return why a finished ticket task has no time entry; the ledger takes precedence."""
    if row is not None and row.state in (LedgerState.ON_HOLD, LedgerState.GONE):
        return Why.ON_HOLD
    if task.event_state == EventState.ON_HOLD:
        return Why.ON_HOLD
    if task.event_state == EventState.FAILED:
        return Why.FAILED
    if task.event_state in (EventState.SKIPPED, EventState.SUPERSEDED):
        return Why.NO_MAPPING if task.code in NO_MAPPING else Why.SKIPPED
    return Why.WAITING


def _is_copy(task: KnownTask) -> bool:
    """Return whether the task is a copy of another one, whose hours count once."""
    return bool(task.task.get("copy_of") or task.task.get("copied_from_ticket"))


def _author(task: KnownTask, config: PluginConfig) -> dict[str, Any] | None:
    """Return whose hours a task has, as the event names the person."""
    users = (task.task.get(role) for role in ("user", "technician"))
    writer, technician = (one if isinstance(one, dict) and id_in(one) else None for one in users)
    return whose_hours(writer, technician, config)


def _seconds(task: KnownTask) -> int:
    seconds = task.task.get("actiontime")
    return seconds if isinstance(seconds, int) else 0
