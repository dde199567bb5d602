"""Hints about time entries, projects and memberships."""

from __future__ import annotations

from collections.abc import Iterator

from shared.payloads import IDENTIFIER as IDENTIFIER_RULE
from shared.payloads import LONGEST_COMMENT, LONGEST_IDENTIFIER, LONGEST_NAME, RESERVED
from shared.refusals.judging import (
    SINCE,
    Fields,
    Rule,
    blank,
    is_date,
    number,
    text_hint,
    there_are,
    unknown,
    whole,
)  # fmt: skip
from shared.refusals.known import Entries, Hint, Known
from shared.refusals.records import (
    ACTIVITY,
    COMMENT,
    DATE_OR_NUMBER,
    HOURS,
    IDENTIFIER,
    MEMBERSHIP,
    NO_TIME_ENTRIES,
    PARENT_PROJECT,
    PROJECT_NAME,
)  # fmt: skip

MOST_HOURS = 999


def activity(fields: Fields, known: Known) -> Iterator[Hint]:
    """An activity must be enabled in the project, which may have one of its own in its place."""
    value, usable = fields.get("activity_id"), _usable_activities(known)
    if not known.activities:
        return
    if blank(value):
        if not any(one.details.get("is_default") for one in known.activities.values()):
            problem = f"no activity is sent, and none is the tracker's default; {there_are(usable)}"
            yield Hint("time_entry.activity_id", problem, ACTIVITY)
    elif whole(value) not in _enabled_ids(known):
        problem = f"activity {value} is not enabled in tracker project {known.tracker_project_id} {SINCE}; "
        yield Hint("time_entry.activity_id", problem + there_are(usable), ACTIVITY)


def _enabled_ids(known: Known) -> set[int]:
    """Return the activities that work: the project's where they were read, else the tracker's that are not off."""
    project = known.projects.get(known.tracker_project_id or 0)
    own = project.details.get("activity_ids") if project else None
    return set(own) if own is not None else set(_usable_activities(known))


def _usable_activities(known: Known) -> Entries:
    active = {key: one for key, one in known.activities.items() if one.details.get("active", True)}
    project = known.projects.get(known.tracker_project_id or 0)
    own = project.details.get("activity_ids") if project else None
    return active if own is None else {key: one for key, one in active.items() if key in own}


def comment(fields: Fields, _known: Known) -> Iterator[Hint]:
    """A comment has at most 1024 characters."""
    length = len(str(fields.get("comments") or ""))
    if length > LONGEST_COMMENT:
        problem = f"the comment has {length} characters; at most {LONGEST_COMMENT} are taken"
        yield Hint("time_entry.comments", problem, COMMENT)


def hours(fields: Fields, _known: Known) -> Iterator[Hint]:
    """Hours are a number that is not negative, and not more than a day takes."""
    value = fields.get("hours")
    spent = number(value)
    if blank(value):
        yield Hint("time_entry.hours", "no hours are sent", HOURS)
    elif spent is not None and not 0 <= spent <= MOST_HOURS:
        problem = f"{value} hours: the tracker takes 0 to {MOST_HOURS}, and less where its setting says so"
        yield Hint("time_entry.hours", problem, HOURS)


def day(fields: Fields, _known: Known) -> Iterator[Hint]:
    """The day of the work is a day."""
    if "spent_on" in fields and not is_date(fields["spent_on"]):
        yield Hint("time_entry.spent_on", "not a day such as 2026-11-21", DATE_OR_NUMBER)


def time_project(_fields: Fields, known: Known) -> Iterator[Hint]:
    """Time is logged in active projects only."""
    project_id = known.tracker_project_id
    if project_id is not None and known.projects and project_id not in known.projects:
        problem = f"tracker project {project_id} is closed, archived or deleted {SINCE}"
        yield Hint("time_entry.issue_id", problem, NO_TIME_ENTRIES)


def time_guesses(fields: Fields, known: Known) -> Iterator[Hint]:
    """What may be wrong with a time entry that the cache cannot tell."""
    spent, project = number(fields.get("hours")), known.projects.get(known.tracker_project_id or 0)
    if blank(fields.get("comments")):
        yield Hint("time_entry.comments", "possibly the tracker requires a comment", COMMENT)
    if spent is not None and round(spent, 2) == 0:
        yield Hint("time_entry.hours", "possibly the tracker refuses hours that round to 0", HOURS)
    if project is None or "activity_ids" not in project.details:
        problem = "possibly the activity is switched off for this project (not read; see project_activities)"
        yield Hint("time_entry.activity_id", problem, ACTIVITY)
    problem = "possibly the project lacks the module time_tracking, or was closed meanwhile"
    yield Hint("time_entry.issue_id", problem, NO_TIME_ENTRIES)
    if spent is not None and round(spent, 2) > 0:
        yield Hint("time_entry.hours", "possibly more than the tracker takes from one person in a day", HOURS)


def name(fields: Fields, _known: Known) -> Iterator[Hint]:
    """A project needs a name, of at most 255 characters."""
    yield from text_hint(fields, "project.name", LONGEST_NAME, PROJECT_NAME)


def identifier(fields: Fields, known: Known) -> Iterator[Hint]:
    """An identifier has its letters, its length, and one project."""
    text = str(fields.get("identifier") or "")
    taken = next((one for one in known.projects.values() if one.details.get("identifier") == text), None)
    if not text.strip():
        yield Hint("project.identifier", "the identifier is empty", IDENTIFIER)
    elif len(text) > LONGEST_IDENTIFIER:
        yield Hint("project.identifier", f"at most {LONGEST_IDENTIFIER} characters are taken", IDENTIFIER)
    elif not IDENTIFIER_RULE.fullmatch(text) or text in RESERVED:
        problem = "lowercase letters a to z, digits, dashes and underscores, not only digits, and not `new`"
        yield Hint("project.identifier", problem, IDENTIFIER)
    elif taken:
        yield Hint("project.identifier", f"taken by tracker project {taken}", IDENTIFIER)


def parent(fields: Fields, known: Known) -> Iterator[Hint]:
    """A parent project must be active."""
    if unknown(fields, "parent_id", known.projects):
        problem = f"tracker project {fields['parent_id']} is closed, archived or deleted {SINCE}"
        yield Hint("project.parent_id", problem, PARENT_PROJECT)


def project_guesses(fields: Fields, _known: Known) -> Iterator[Hint]:
    """What may be wrong with a new project that the cache cannot tell."""
    if not blank(fields.get("parent_id")):
        yield Hint("project.parent_id", "possibly the project above was closed meanwhile", PARENT_PROJECT)
    problem = "possibly taken by an archived project, which no list shows"
    yield Hint("project.identifier", problem, IDENTIFIER)


def roles(fields: Fields, known: Known) -> Iterator[Hint]:
    """At least one role must exist and be no built-in one."""
    given = fields.get("role_ids")
    ids = {whole(one) for one in given} if isinstance(given, list) else set()
    if known.roles and not ids & known.roles.keys():
        problem = f"none of the roles exists, or they are built in {SINCE}; {there_are(known.roles)}"
        yield Hint("membership.role_ids", problem, MEMBERSHIP)


def member(fields: Fields, known: Known) -> Iterator[Hint]:
    """Who is to be a member must exist."""
    value = fields.get("user_id")
    if blank(value):
        yield Hint("membership.user_id", "nobody is named", MEMBERSHIP)
    elif known.users and whole(value) not in known.users:
        yield Hint("membership.user_id", f"no active tracker user {value} {SINCE} (or a group)", MEMBERSHIP)


def member_guesses(_fields: Fields, _known: Known) -> Iterator[Hint]:
    """What may be wrong with a membership that the cache cannot tell."""
    problem = "possibly a member already, which is what was wanted; or deleted meanwhile"
    yield Hint("membership.user_id", problem, MEMBERSHIP)


TIME_ENTRY: tuple[Rule, ...] = (time_project, activity, hours, comment, day)
PROJECT: tuple[Rule, ...] = (name, identifier, parent)
MEMBERSHIP_RULES: tuple[Rule, ...] = (member, roles)
