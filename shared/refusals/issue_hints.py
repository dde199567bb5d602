"""Hints about issues: their creation, updates of their status, and notes."""

from __future__ import annotations

from collections.abc import Iterator

from shared.events.payloads import LONGEST_SUBJECT
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
from shared.refusals.known import Explanation, KnownMetadata
from shared.tracker.projects import ProjectState

CLOSED_TO_ISSUES = {
    ProjectState.CLOSED: Hint.PROJECT_CLOSED,
    ProjectState.ARCHIVED: Hint.PROJECT_ARCHIVED,
    ProjectState.ABSENT: Hint.PROJECT_ABSENT,
}


def project(fields: Fields, known: KnownMetadata) -> Iterator[Explanation]:
    """An issue's project must be active."""
    if blank(fields.get("project_id")):
        yield Explanation("issue.project_id", Hint.NO_PROJECT_GIVEN())
    elif known.project_now is not None:
        yield from project_now(fields, known)
    elif as_integer(fields["project_id"]) is not None and unknown(fields, "project_id", known.projects):
        yield Explanation("issue.project_id", Hint.PROJECT_NOT_ACTIVE(project_id=fields["project_id"]))


def project_now(_fields: Fields, known: KnownMetadata) -> Iterator[Explanation]:
    """Issues of a project that is not active, or has no issue module, cannot be created or changed."""
    now = known.project_now
    if now is None:
        return
    if now.state is not ProjectState.ACTIVE:
        yield Explanation("issue.project_id", CLOSED_TO_ISSUES[now.state](**now.named))
    elif now.modules is not None and "issue_tracking" not in now.modules:
        yield Explanation("issue.project_id", Hint.NO_ISSUE_TRACKING(**now.named))


def subject(fields: Fields, _known: KnownMetadata) -> Iterator[Explanation]:
    """An issue needs a subject of at most 255 characters."""
    text = fields.get("subject")
    if blank(text):
        yield Explanation("issue.subject", Hint.SUBJECT_EMPTY())
    elif (length := len(str(text))) > LONGEST_SUBJECT:
        yield Explanation("issue.subject", Hint.SUBJECT_TOO_LONG(length=length, most=LONGEST_SUBJECT))


def priority(fields: Fields, known: KnownMetadata) -> Iterator[Explanation]:
    """A priority must exist; one is needed if the tracker has no default."""
    if unknown(fields, "priority_id", known.priorities):
        why = Hint.UNKNOWN_PRIORITY(
            priority_id=fields["priority_id"], **choices_of(known.priorities.values())
        )
        yield Explanation("issue.priority_id", why)
    none_is_default = not any(one.details.get("is_default") for one in known.priorities.values())
    if blank(fields.get("priority_id")) and known.priorities and none_is_default:
        why = Hint.NO_DEFAULT_PRIORITY(**choices_of(known.priorities.values()))
        yield Explanation("issue.priority_id", why)


def category(fields: Fields, known: KnownMetadata) -> Iterator[Explanation]:
    """A category must belong to the issue's project."""
    now = known.project_now
    categories = now.categories if now else None
    if blank(fields.get("category_id")) or (
        categories is None and known.tracker_project_id not in known.projects
    ):
        return
    if as_integer(fields["category_id"]) not in (known.categories if categories is None else categories):
        there_are = choices_of(known.categories.values()) if categories is None else names_of(categories)
        why = Hint.UNKNOWN_CATEGORY(
            project_id=known.tracker_project_id, category_id=fields["category_id"], **there_are
        )
        yield Explanation("issue.category_id", why)


def category_assignee(fields: Fields, known: KnownMetadata) -> Iterator[Explanation]:
    """The default assignee of a category must be active."""
    entry = known.categories.get(as_integer(fields.get("category_id")) or 0)
    assignee_id = entry.details.get("assigned_to_id") if entry else None
    is_given = not blank(fields.get("assigned_to_id"))
    if entry is None or is_given or assignee_id is None or not known.users or assignee_id in known.users:
        return
    why = Hint.CATEGORY_ASSIGNEE_LOCKED(
        category_id=entry.tracker_id,
        category=entry.name,
        user_id=assignee_id,
        user=entry.details.get("assigned_to"),
    )
    yield Explanation("issue.category_id", why)


def issue_type(fields: Fields, known: KnownMetadata) -> Iterator[Explanation]:
    """The tracker ignores an unknown issue type, and uses the project's first one."""
    if unknown(fields, "tracker_id", known.issue_types):
        choices = choices_of(known.issue_types.values())
        why = Hint.UNKNOWN_ISSUE_TYPE(issue_type_id=fields["tracker_id"], **choices)
        yield Explanation("issue.tracker_id", why)


def status(fields: Fields, known: KnownMetadata) -> Iterator[Explanation]:
    """The tracker ignores an unknown status, on creation and on updates."""
    if unknown(fields, "status_id", known.statuses):
        why = Hint.UNKNOWN_STATUS(status_id=fields["status_id"], **choices_of(known.statuses.values()))
        yield Explanation("issue.status_id", why)


def some_status(fields: Fields, _known: KnownMetadata) -> Iterator[Explanation]:
    """An update without a status does not change the status."""
    if blank(fields.get("status_id")):
        yield Explanation("issue.status_id", Hint.NO_STATUS_GIVEN())


def watchers(fields: Fields, known: KnownMetadata) -> Iterator[Explanation]:
    """Watchers must be active users; the tracker answers 404 to one that does not exist."""
    given = fields.get("watcher_user_ids")
    ids = given if isinstance(given, list) else []
    strange = [one for one in ids if known.users and as_integer(one) not in known.users]
    if strange:
        why = Hint.UNKNOWN_WATCHERS(user_ids=[str(one)[:20] for one in strange[:10]])
        yield Explanation("issue.watcher_user_ids", why)


def assignee(fields: Fields, known: KnownMetadata) -> Iterator[Explanation]:
    """An assignee must be a member; the cache only shows whether the user exists."""
    value = fields.get("assigned_to_id")
    if not blank(value) and known.users and as_integer(value) not in known.users:
        yield Explanation("issue.assigned_to_id", Hint.UNKNOWN_ASSIGNEE(user_id=value))


def days(fields: Fields, _known: KnownMetadata) -> Iterator[Explanation]:
    """Dates must be valid, and the due date must not be before the start date."""
    for name in ("start_date", "due_date"):
        if not blank(fields.get(name)) and not is_date(fields[name]):
            yield Explanation(f"issue.{name}", Hint.NOT_A_DATE())
    start, due = fields.get("start_date"), fields.get("due_date")
    if is_date(start) and is_date(due) and str(due).strip() < str(start).strip():
        yield Explanation("issue.due_date", Hint.DUE_BEFORE_START())


def amounts(fields: Fields, _known: KnownMetadata) -> Iterator[Explanation]:
    """Estimated hours must not be negative, and percent done must be between 0 and 100."""
    estimated, done = number(fields.get("estimated_hours")), number(fields.get("done_ratio"))
    if estimated is not None and estimated < 0:
        yield Explanation("issue.estimated_hours", Hint.NEGATIVE_ESTIMATE())
    if done is not None and not 0 <= done <= 100:
        yield Explanation("issue.done_ratio", Hint.PERCENT_OUT_OF_RANGE())


CREATION: tuple[Rule, ...] = (
    project, subject, priority, category, category_assignee, watchers, assignee, days, amounts, issue_type, status,
)  # fmt: skip
NOTE: tuple[Rule, ...] = (project_now, amounts, status)
UPDATE: tuple[Rule, ...] = (*NOTE, some_status)


def guesses(fields: Fields, known: KnownMetadata) -> Iterator[Explanation]:
    """Possible faults of a new issue that the cache cannot show."""
    if not blank(fields.get("watcher_user_ids")):
        yield Explanation("issue.watcher_user_ids", Hint.MAYBE_WATCHER_LOCKED(), checked=False)
    if not blank(fields.get("assigned_to_id")):
        yield Explanation("issue.assigned_to_id", Hint.MAYBE_ASSIGNEE_NOT_MEMBER(), checked=False)
    if not blank(fields.get("fixed_version_id")):
        yield Explanation("issue.fixed_version_id", Hint.MAYBE_VERSION_NOT_USABLE(), checked=False)
    if not blank(fields.get("parent_issue_id")):
        yield Explanation("issue.parent_issue_id", Hint.MAYBE_PARENT_ISSUE_NOT_USABLE(), checked=False)
    if known.project_now is None:
        yield Explanation("issue.project_id", Hint.MAYBE_PROJECT_CLOSED(), checked=False)
