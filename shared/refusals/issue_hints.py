"""Hints about issues: their creation, and the update of their status."""

from __future__ import annotations

from collections.abc import Iterator

from shared.payloads import LONGEST_SUBJECT
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
from shared.refusals.known import Hint, Known
from shared.refusals.records import (
    ASSIGNEE,
    DATE_OR_NUMBER,
    IGNORED,
    NO_CREATION,
    NOT_THERE,
    SUBJECT,
    WATCHER,
)  # fmt: skip


def project(fields: Fields, known: Known) -> Iterator[Hint]:
    """An issue's project must be active."""
    if blank(fields.get("project_id")):
        yield Hint("issue.project_id", "no tracker project is named", NO_CREATION)
    elif whole(fields["project_id"]) is not None and unknown(fields, "project_id", known.projects):
        problem = f"tracker project {fields['project_id']} is closed, archived or deleted {SINCE}"
        yield Hint("issue.project_id", problem, NO_CREATION)


def subject(fields: Fields, _known: Known) -> Iterator[Hint]:
    """A subject is needed, of at most 255 characters."""
    yield from text_hint(fields, "issue.subject", LONGEST_SUBJECT, SUBJECT)


def priority(fields: Fields, known: Known) -> Iterator[Hint]:
    """A priority must exist; one is needed where the tracker has no default."""
    if unknown(fields, "priority_id", known.priorities):
        problem = f"the tracker has no priority {fields['priority_id']}; {there_are(known.priorities)}"
        yield Hint("issue.priority_id", problem, NOT_THERE)
    none_is_default = not any(one.details.get("is_default") for one in known.priorities.values())
    if blank(fields.get("priority_id")) and known.priorities and none_is_default:
        problem = f"no priority is sent, and none is the tracker's default; {there_are(known.priorities)}"
        yield Hint("issue.priority_id", problem, NOT_THERE)


def category(fields: Fields, known: Known) -> Iterator[Hint]:
    """A category belongs to one project."""
    if blank(fields.get("category_id")) or known.tracker_project_id not in known.projects:
        return
    if whole(fields["category_id"]) not in known.categories:
        problem = (
            f"tracker project {known.tracker_project_id} has no issue category {fields['category_id']}; "
            f"{there_are(known.categories)}"
        )
        yield Hint("issue.category_id", problem, NOT_THERE)


def issue_type(fields: Fields, known: Known) -> Iterator[Hint]:
    """An unknown issue type is ignored: the project's first one is taken."""
    if unknown(fields, "tracker_id", known.issue_types):
        problem = f"the tracker has no issue type {fields['tracker_id']} and takes the project's first one; "
        yield Hint("issue.tracker_id", problem + there_are(known.issue_types), IGNORED)


def status(fields: Fields, known: Known) -> Iterator[Hint]:
    """An unknown status is ignored, on creation and afterwards."""
    if unknown(fields, "status_id", known.statuses):
        problem = (
            f"the tracker has no status {fields['status_id']} and ignores it; {there_are(known.statuses)}"
        )
        yield Hint("issue.status_id", problem, IGNORED)


def some_status(fields: Fields, _known: Known) -> Iterator[Hint]:
    """An update without a status changes none."""
    if blank(fields.get("status_id")):
        yield Hint("issue.status_id", "no status is sent, so it stays as it is", IGNORED)


def watchers(fields: Fields, known: Known) -> Iterator[Hint]:
    """Watchers must be active users; for one who does not exist the tracker answers 404."""
    given = fields.get("watcher_user_ids")
    ids = given if isinstance(given, list) else []
    strangers = [one for one in ids if known.users and whole(one) not in known.users]
    if strangers:
        named = ", ".join(str(one)[:20] for one in strangers[:10])
        yield Hint("issue.watcher_user_ids", f"no active tracker user {SINCE}: {named}", WATCHER)


def assignee(fields: Fields, known: Known) -> Iterator[Hint]:
    """An assignee must be a member; whether a user is one is not in the cache, whether they exist is."""
    value = fields.get("assigned_to_id")
    if not blank(value) and known.users and whole(value) not in known.users:
        yield Hint("issue.assigned_to_id", f"no active tracker user {value} {SINCE} (or a group)", ASSIGNEE)


def days(fields: Fields, _known: Known) -> Iterator[Hint]:
    """Days are days, and the due one is not before the first."""
    for name in ("start_date", "due_date"):
        if not blank(fields.get(name)) and not is_date(fields[name]):
            yield Hint(f"issue.{name}", "not a day such as 2026-11-21", DATE_OR_NUMBER)
    start, due = fields.get("start_date"), fields.get("due_date")
    if is_date(start) and is_date(due) and str(due).strip() < str(start).strip():
        yield Hint("issue.due_date", "the due date is before the start date", DATE_OR_NUMBER)


def amounts(fields: Fields, _known: Known) -> Iterator[Hint]:
    """Estimated hours are not negative, and percents are between 0 and 100."""
    estimated, done = number(fields.get("estimated_hours")), number(fields.get("done_ratio"))
    if estimated is not None and estimated < 0:
        yield Hint("issue.estimated_hours", "the estimated time is negative", DATE_OR_NUMBER)
    if done is not None and not 0 <= done <= 100:
        yield Hint("issue.done_ratio", "percents done are between 0 and 100", DATE_OR_NUMBER)


CREATION: tuple[Rule, ...] = (
    project, subject, priority, category, watchers, assignee, days, amounts, issue_type, status,
)  # fmt: skip
UPDATE: tuple[Rule, ...] = (amounts, some_status, status)


def guesses(fields: Fields, _known: Known) -> Iterator[Hint]:
    """What may be wrong with a new issue that the cache cannot tell."""
    if not blank(fields.get("watcher_user_ids")):
        yield Hint("issue.watcher_user_ids", "possibly a watcher was locked or deleted meanwhile", WATCHER)
    if not blank(fields.get("assigned_to_id")):
        yield Hint("issue.assigned_to_id", "possibly the assignee is no member of the project", ASSIGNEE)
    for name, noun in (("fixed_version_id", "target version"), ("parent_issue_id", "parent issue")):
        if not blank(fields.get(name)):
            yield Hint(
                f"issue.{name}", f"possibly the {noun} does not exist or cannot be used here", NOT_THERE
            )
    yield Hint(
        "issue.project_id", f"possibly the project was closed or archived; it was active {SINCE}", NO_CREATION
    )
