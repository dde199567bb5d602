"""The tracker's decisions about logging and deleting time."""

from __future__ import annotations

import time
from typing import Any

from deploy.sandbox.tracker import answers, fields, texts, views
from deploy.sandbox.tracker import permissions as may
from deploy.sandbox.tracker.answers import Answer, RefusedError
from deploy.sandbox.tracker.calls import Call
from deploy.sandbox.tracker.records import USER_LOCKED, Enumeration, Issue, Project, TimeEntry

COMMENT_LIMIT = 1024
_ACCEPTED_BLANK = (None, "")


def usable_activities(call: Call, project: Project) -> list[Enumeration]:
    """Return the active activities of a project, with its own rows in place of the global ones."""
    rows = call.tracker.activities.values()
    own = {row.parent_id: row for row in rows if row.project_id == project.id}
    found = [own.get(row.id, row) for row in rows if row.project_id is None]
    return [row for row in found if row.active]


def create(call: Call) -> Answer:
    """POST /time_entries.json."""
    tracker = call.tracker
    if not may.allowed_anywhere(tracker, call.user, "log_time"):
        raise call.forbidden()
    given = call.params.get("time_entry")
    attributes: dict[str, Any] = given if isinstance(given, dict) else {}
    issue_id = fields.whole(attributes.get("issue_id"))
    issue = tracker.issues.get(issue_id or 0)
    reference = attributes.get("project_id")
    named = None if reference in _ACCEPTED_BLANK else tracker.find_project(reference)
    project, may_log = _place(call, named, issue)
    if named is not None and not may.allowed(tracker, call.user, "log_time", named):
        raise call.forbidden()
    errors, entry = _validated(call, attributes, project)
    if project is None:
        errors.append(call.fault("project", "invalid"))
    if not _user_is_valid(call, attributes, project):
        errors.append(call.fault("user", "invalid"))
    if attributes.get("issue_id") not in _ACCEPTED_BLANK and not (issue and may_log):
        errors.append(call.fault("issue", "invalid"))
    if issue and _is_closed(call, issue):
        errors.append(texts.CLOSED_ISSUE)
    if project is not None and not _activity_is_valid(call, attributes, project):
        errors.append(call.fault("activity", "inclusion"))
    if errors or project is None or entry is None:
        raise RefusedError(answers.invalid(errors))
    entry.id, entry.project_id = tracker.next_id("time_entries"), project.id
    entry.issue_id = issue.id if issue else None
    tracker.add_time_entry(entry)
    shown = {"time_entry": views.time_entry(tracker, entry)}
    return answers.created(shown, call.location(f"/time_entries/{entry.id}"))


def _is_closed(call: Call, issue: Issue) -> bool:
    """Return whether the issue is closed and the version and the settings refuse time on closed issues."""
    switched_off = call.tracker.release.closed_issues and not call.tracker.settings.closed_issues_take_time
    return switched_off and call.tracker.statuses[issue.status_id].is_closed


def _place(call: Call, named: Project | None, issue: Issue | None) -> tuple[Project | None, bool]:
    """Return the project of the time entry, and whether the caller may log time on the issue."""
    if issue is None:
        return named, False
    tracker, project = call.tracker, call.tracker.projects[issue.project_id]
    may_log = may.allowed(tracker, call.user, "log_time", project)
    may_log = may_log and may.sees(tracker, call.user, issue)
    return named or project, may_log and (named is None or named.id == project.id)


def _validated(
    call: Call, attributes: dict[str, Any], project: Project | None
) -> tuple[list[str], TimeEntry | None]:
    """Return the errors that do not depend on the place, and the entry if it can be built."""
    values, errors = fields.custom_values(call, "time_entry", attributes)
    activity_id = _activity(call, attributes)
    if activity_id is None:
        errors.append(call.fault("activity", "blank"))
    if project is None and attributes.get("project_id") in _ACCEPTED_BLANK:
        errors.append(call.fault("project", "blank"))
    given = attributes.get("hours")
    if isinstance(given, list | dict):
        raise RefusedError(answers.broken())
    amount = None if given in _ACCEPTED_BLANK else fields.hours(given)
    spent_on = _spent_on(call, attributes)
    if given in _ACCEPTED_BLANK:
        errors.append(call.fault("hours", "blank"))
    if spent_on is None:
        errors.append(call.fault("date", "blank"))
    comments = fields.text(attributes.get("comments"))
    if call.tracker.settings.require_comments and fields.blank(comments):
        errors.append(call.fault("comment", "blank"))
    if given not in _ACCEPTED_BLANK and amount is None:
        errors.append(call.fault("hours", "invalid"))
    if comments is not None and len(comments) > COMMENT_LIMIT:
        errors.append(call.fault("comment", "too_long", COMMENT_LIMIT))
    if spent_on is None and attributes["spent_on"] not in _ACCEPTED_BLANK:
        errors.append(call.fault("date", "not_a_date"))
    today = time.strftime("%Y-%m-%d", time.gmtime(call.tracker.now()))
    if spent_on is not None and spent_on > today and not call.tracker.settings.future_dates:
        errors.append(texts.future_day(call.language))
    user_id = fields.whole(attributes.get("user_id")) or call.user.id
    if amount is not None:
        errors += _hours_errors(call, amount, user_id, spent_on or "")
    fields.refuse_null_character(call, comments)
    if amount is None or spent_on is None or activity_id is None:
        return errors, None
    now = call.tracker.now()
    author = call.user.id
    row = TimeEntry(
        0,
        0,
        None,
        user_id,
        author,
        activity_id,
        amount,
        fields.edited(call, comments),
        spent_on,
        values,
        created_on=now,
    )
    return errors, row


def _spent_on(call: Call, attributes: dict[str, Any]) -> str | None:
    if "spent_on" not in attributes:
        return time.strftime("%Y-%m-%d", time.gmtime(call.tracker.now()))
    return fields.iso_date(attributes["spent_on"])


def _hours_errors(call: Call, amount: float, user_id: int, spent_on: str) -> list[str]:
    settings = call.tracker.settings
    errors = []
    listed = fields.listed_hours(amount, call.tracker.release)
    if listed < 0 or (listed == 0 and not settings.accept_zero_hours):
        errors.append(call.fault("hours", "invalid"))
    logged = call.tracker.hours_of_day.get((user_id, spent_on), 0.0)
    if settings.max_hours_per_day and logged + amount > settings.max_hours_per_day:
        errors.append(texts.day_is_full(call.language, settings.max_hours_per_day, logged))
    return errors


def _activity(call: Call, attributes: dict[str, Any]) -> int | None:
    if "activity_id" in attributes:
        return fields.whole(attributes["activity_id"])
    return next((row.id for row in call.tracker.activities.values() if row.is_default), None)


def _activity_is_valid(call: Call, attributes: dict[str, Any], project: Project) -> bool:
    wanted = _activity(call, attributes)
    return wanted is None or wanted in [row.id for row in usable_activities(call, project)]


def _user_is_valid(call: Call, attributes: dict[str, Any], project: Project | None) -> bool:
    """Return whether the caller may log the user's time; another user must be a member who may log time."""
    user_id = fields.whole(attributes.get("user_id"))
    if user_id is None or user_id == call.user.id:
        return True
    allowed = may.allowed(call.tracker, call.user, "log_time_for_other_users", project)
    user = call.tracker.users.get(user_id)
    if not allowed or user is None or user.status == USER_LOCKED:
        return False
    is_member = bool(may.member_role_ids(call.tracker, user_id, project))
    return is_member and may.allowed(call.tracker, user, "log_time", project)


def find(call: Call) -> TimeEntry:
    """Return the time entry in the path; 404 if there is none."""
    entry = call.tracker.time_entries.get(fields.whole(call.ids[0]) or 0)
    if entry is None:
        raise RefusedError(answers.empty(404))
    return entry


def update(call: Call) -> Answer:
    """PUT /time_entries/:id.json, only for the user, who must be a member who may log time."""
    entry = find(call)
    project = call.tracker.projects[entry.project_id]
    call.require("edit_time_entries", project)
    given = call.params.get("time_entry")
    attributes: dict[str, Any] = given if isinstance(given, dict) else {}
    if not _user_is_valid(call, attributes, project):
        raise RefusedError(answers.invalid([call.fault("user", "invalid")]))
    entry.user_id = fields.whole(attributes.get("user_id")) or entry.user_id
    return answers.done()


def delete(call: Call) -> Answer:
    """DELETE /time_entries/:id.json."""
    entry = find(call)
    project = call.tracker.projects[entry.project_id]
    own = entry.user_id == call.user.id
    if not (own and may.allowed(call.tracker, call.user, "edit_own_time_entries", project)):
        call.require("edit_time_entries", project)
    call.tracker.delete_time_entry(entry.id)
    return answers.done()
