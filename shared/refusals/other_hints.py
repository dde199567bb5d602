"""Hints about time entries, projects and memberships."""

from __future__ import annotations

from collections.abc import Iterator

from shared.events.payloads import IDENTIFIER, LONGEST_COMMENT, LONGEST_IDENTIFIER, LONGEST_NAME, RESERVED
from shared.notices.hints import Hint
from shared.refusals.judging import (
    Fields,
    Rule,
    as_integer,
    blank,
    choices_of,
    is_date,
    names_of,
    number,
    unknown,
)
from shared.refusals.known import Entries, Explanation, KnownMetadata
from shared.tracker.projects import ProjectState

MOST_HOURS = 999
HOURS_OF_A_DAY = 24
HALF_A_MINUTE = 30 / 3600  # no supported version rounds this to 0; 5.0 accepts 18 s


def activity(fields: Fields, known: KnownMetadata) -> Iterator[Explanation]:
    """An activity must be enabled in the project, which may replace it with one of its own."""
    value, usable = fields.get("activity_id"), _usable_activities(known)
    now = known.project_now
    if now is not None and now.activities is not None and not blank(value):
        if now.state is ProjectState.ACTIVE and as_integer(value) not in now.activities:
            listed = known.activities.get(as_integer(value) or 0)
            is_off = listed is not None and not listed.details.get("active", True)
            code = Hint.ACTIVITY_SWITCHED_OFF if is_off else Hint.ACTIVITY_NOT_USABLE_NOW
            where = {} if is_off else now.named
            yield Explanation(
                "time_entry.activity_id", code(activity_id=value, **where, **names_of(now.activities))
            )
        return
    if not known.activities:
        return
    if blank(value):
        if not any(one.details.get("is_default") for one in known.activities.values()):
            why = Hint.NO_DEFAULT_ACTIVITY(**choices_of(usable.values()))
            yield Explanation("time_entry.activity_id", why)
    elif as_integer(value) not in _enabled_ids(known):
        why = Hint.ACTIVITY_NOT_ENABLED(
            activity_id=value, project_id=known.tracker_project_id, **choices_of(usable.values())
        )
        yield Explanation("time_entry.activity_id", why)


def _enabled_ids(known: KnownMetadata) -> set[int]:
    """Return the usable activities: the project's if they were read, otherwise the active ones of the tracker."""
    project = known.projects.get(known.tracker_project_id or 0)
    own = project.details.get("activity_ids") if project else None
    return set(own) if own is not None else set(_usable_activities(known))


def _usable_activities(known: KnownMetadata) -> Entries:
    active = {key: one for key, one in known.activities.items() if one.details.get("active", True)}
    project = known.projects.get(known.tracker_project_id or 0)
    own = project.details.get("activity_ids") if project else None
    return active if own is None else {key: one for key, one in active.items() if key in own}


def comment(fields: Fields, _known: KnownMetadata) -> Iterator[Explanation]:
    """A comment must have at most 1024 characters."""
    length = len(str(fields.get("comments") or ""))
    if length > LONGEST_COMMENT:
        why = Hint.COMMENT_TOO_LONG(length=length, most=LONGEST_COMMENT)
        yield Explanation("time_entry.comments", why)


def hours(fields: Fields, _known: KnownMetadata) -> Iterator[Explanation]:
    """Hours must be given, and must be between 0 and `MOST_HOURS`."""
    value = fields.get("hours")
    spent = number(value)
    if blank(value):
        yield Explanation("time_entry.hours", Hint.NO_HOURS_GIVEN())
    elif spent is not None and not 0 <= spent <= MOST_HOURS:
        yield Explanation("time_entry.hours", Hint.HOURS_OUT_OF_RANGE(hours=value, most=MOST_HOURS))


def day(fields: Fields, _known: KnownMetadata) -> Iterator[Explanation]:
    """The day of the work must be a valid date."""
    if "spent_on" in fields and not is_date(fields["spent_on"]):
        yield Explanation("time_entry.spent_on", Hint.NOT_A_DATE())


CLOSED_TO_TIME = {
    ProjectState.CLOSED: Hint.TIME_PROJECT_CLOSED,
    ProjectState.ARCHIVED: Hint.TIME_PROJECT_ARCHIVED,
    ProjectState.ABSENT: Hint.TIME_PROJECT_ABSENT,
}


def time_project(_fields: Fields, known: KnownMetadata) -> Iterator[Explanation]:
    """Time can be logged only in an active project with time tracking."""
    project_id, now = known.tracker_project_id, known.project_now
    if now is not None:
        if now.state is not ProjectState.ACTIVE:
            yield Explanation("time_entry.issue_id", CLOSED_TO_TIME[now.state](**now.named))
        elif now.modules is not None and "time_tracking" not in now.modules:
            yield Explanation("time_entry.issue_id", Hint.NO_TIME_TRACKING(**now.named))
    elif project_id is not None and known.projects and project_id not in known.projects:
        yield Explanation("time_entry.issue_id", Hint.TIME_PROJECT_NOT_ACTIVE(project_id=project_id))


def time_guesses(fields: Fields, known: KnownMetadata) -> Iterator[Explanation]:
    """Possible faults of a time entry that the cache cannot show."""
    spent, project = number(fields.get("hours")), known.projects.get(known.tracker_project_id or 0)
    if blank(fields.get("comments")):
        yield Explanation("time_entry.comments", Hint.MAYBE_COMMENT_REQUIRED())
    if spent is not None and 0 <= spent < HALF_A_MINUTE:
        yield Explanation("time_entry.hours", Hint.MAYBE_HOURS_ROUND_TO_ZERO())
    if known.is_issue_closed:
        yield Explanation("time_entry.issue_id", Hint.MAYBE_ISSUE_CLOSED())
    if known.project_now is None:
        if project is None or "activity_ids" not in project.details:
            yield Explanation("time_entry.activity_id", Hint.MAYBE_ACTIVITY_NOT_ENABLED(), checked=False)
        yield Explanation("time_entry.issue_id", Hint.MAYBE_NO_TIME_TRACKING(), checked=False)
    day = fields.get("spent_on")
    if known.today and is_date(day) and str(day).strip() > known.today.isoformat():
        yield Explanation("time_entry.spent_on", Hint.MAYBE_DAY_NOT_OPEN(day=day))
    if spent is not None and spent > HOURS_OF_A_DAY:
        yield Explanation("time_entry.hours", Hint.MAYBE_TOO_MANY_HOURS_IN_A_DAY())


def name(fields: Fields, _known: KnownMetadata) -> Iterator[Explanation]:
    """A project needs a name of at most 255 characters."""
    text = fields.get("name")
    if blank(text):
        yield Explanation("project.name", Hint.PROJECT_NAME_EMPTY())
    elif (length := len(str(text))) > LONGEST_NAME:
        yield Explanation("project.name", Hint.PROJECT_NAME_TOO_LONG(length=length, most=LONGEST_NAME))


def identifier(fields: Fields, known: KnownMetadata) -> Iterator[Explanation]:
    """An identifier must have valid characters and length, and must not be taken."""
    text = str(fields.get("identifier") or "")
    taken = next((one for one in known.projects.values() if one.details.get("identifier") == text), None)
    if not text.strip():
        yield Explanation("project.identifier", Hint.IDENTIFIER_EMPTY())
    elif len(text) > LONGEST_IDENTIFIER:
        why = Hint.IDENTIFIER_TOO_LONG(length=len(text), most=LONGEST_IDENTIFIER)
        yield Explanation("project.identifier", why)
    elif not IDENTIFIER.fullmatch(text) or text in RESERVED:
        yield Explanation("project.identifier", Hint.IDENTIFIER_NOT_VALID())
    elif taken:
        yield Explanation("project.identifier", Hint.IDENTIFIER_TAKEN(project=str(taken)))


def parent(fields: Fields, known: KnownMetadata) -> Iterator[Explanation]:
    """A parent project must be active."""
    if unknown(fields, "parent_id", known.projects):
        why = Hint.PARENT_PROJECT_NOT_ACTIVE(project_id=fields["parent_id"])
        yield Explanation("project.parent_id", why)


def project_guesses(fields: Fields, _known: KnownMetadata) -> Iterator[Explanation]:
    """Possible faults of a new project that the cache cannot show."""
    if not blank(fields.get("parent_id")):
        yield Explanation("project.parent_id", Hint.MAYBE_PARENT_PROJECT_CLOSED(), checked=False)
    yield Explanation("project.identifier", Hint.MAYBE_IDENTIFIER_OF_ARCHIVED(), checked=False)


def roles(fields: Fields, known: KnownMetadata) -> Iterator[Explanation]:
    """At least one role must exist and must not be built-in."""
    given = fields.get("role_ids")
    ids = {as_integer(one) for one in given} if isinstance(given, list) else set()
    if known.roles and not ids & known.roles.keys():
        yield Explanation("membership.role_ids", Hint.NO_USABLE_ROLE(**choices_of(known.roles.values())))


def member(fields: Fields, known: KnownMetadata) -> Iterator[Explanation]:
    """The new member must exist."""
    value = fields.get("user_id")
    if blank(value):
        yield Explanation("membership.user_id", Hint.NO_MEMBER_GIVEN())
    elif known.users and as_integer(value) not in known.users:
        yield Explanation("membership.user_id", Hint.UNKNOWN_MEMBER(user_id=value))


def member_guesses(_fields: Fields, _known: KnownMetadata) -> Iterator[Explanation]:
    """Possible faults of a membership that the cache cannot show."""
    yield Explanation("membership.user_id", Hint.MAYBE_ALREADY_MEMBER(), checked=False)


TIME_ENTRY: tuple[Rule, ...] = (time_project, activity, hours, comment, day)
PROJECT: tuple[Rule, ...] = (name, identifier, parent)
MEMBERSHIP_RULES: tuple[Rule, ...] = (member, roles)
