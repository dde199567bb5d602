"""Projects, members, issues and time entries as the tracker lists and shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deploy.sandbox.tracker import answers, fields, filters, issues, memberships, time_entries, views
from deploy.sandbox.tracker import permissions as may
from deploy.sandbox.tracker.answers import Answer, RefusedError
from deploy.sandbox.tracker.calls import Call
from deploy.sandbox.tracker.paging import page, require_reader
from deploy.sandbox.tracker.records import ACTIVE, CLOSED, Issue, Project


def _tree(tracker_projects: Sequence[Project]) -> list[Project]:
    """Return projects by name, each followed by those below it."""
    children: dict[int | None, list[Project]] = {}
    for project in sorted(tracker_projects, key=lambda p: (p.name.lower(), -p.id)):
        children.setdefault(project.parent_id, []).append(project)
    found: list[Project] = []
    waiting = children.get(None, [])[::-1]
    while waiting:
        project = waiting.pop()
        found.append(project)
        waiting += children.get(project.id, [])[::-1]
    return found


def projects(call: Call) -> Answer:
    """GET /projects.json: active projects that the caller may see; `status=1|5` adds the closed ones."""
    require_reader(call)
    tracker = call.tracker
    visible = may.visible_project_ids(tracker, call.user, "view_project")
    tests = filters.project_tests(call)
    rows = [
        project
        for project in _tree(list(tracker.projects.values()))
        if project.status in (ACTIVE, CLOSED)
        and project.id in visible
        and all(test(project) for test in tests)
    ]
    return page(
        call,
        "projects",
        rows,
        lambda row: views.project(tracker, row, homepage=tracker.release.tells_more) | _included(call, row),
    )


def project(call: Call) -> Answer:
    """GET /projects/:id.json with the usual includes."""
    tracker, row = call.tracker, call.project_in_path()
    call.require("view_project", row)
    return answers.ok({"project": views.project(tracker, row) | _included(call, row)})


def _included(call: Call, row: Project) -> dict[str, Any]:
    """Return the parts of a project that the query's `include` requests."""
    tracker, shown = call.tracker, dict[str, Any]()
    include = call.query.get("include", "").split(",")
    if "trackers" in include:
        shown["trackers"] = [views.named(tracker.issue_types[n]) for n in row.tracker_ids]
    if "issue_categories" in include:
        shown["issue_categories"] = [
            views.named(c) for c in tracker.categories.values() if c.project_id == row.id
        ]
    if "time_entry_activities" in include:
        shown["time_entry_activities"] = [views.named(a) for a in time_entries.usable_activities(call, row)]
    if "enabled_modules" in include:
        shown["enabled_modules"] = [{"id": n, "name": name} for n, name in enumerate(row.modules, 1)]
    return shown


def members(call: Call) -> Answer:
    """GET /projects/:id/memberships.json."""
    row = call.project_in_path()
    call.require("view_members", row)
    found = memberships.listed(call, row)
    return page(call, "memberships", found, lambda m: views.membership(call.tracker, m))


def _projects_asked_for(call: Call, permission: str) -> set[int]:
    """Return the ids of the projects of a list: the visible ones, or the query's and those below it."""
    visible = may.visible_project_ids(call.tracker, call.user, permission)
    reference = call.query.get("project_id")
    if not reference:
        return visible
    found = call.tracker.find_project(reference)
    if found is None:
        raise RefusedError(answers.empty(404))
    call.require(permission, found)
    if call.query.get("subproject_id") == "!*":
        return {found.id}
    return visible & {p.id for p in call.tracker.descendants(found)}


def _shows_hours(call: Call, project_id: int) -> bool:
    return may.allowed(call.tracker, call.user, "view_time_entries", call.tracker.projects[project_id])


def issue_list(call: Call) -> Answer:
    """GET /issues.json: open issues by default, newest id first."""
    require_reader(call)
    tests, covered = filters.issue_tests(call), _projects_asked_for(call, "view_issues")
    rows = [
        row
        for row in call.tracker.issues.values()
        if row.project_id in covered and all(test(row) for test in tests)
    ]
    rows = filters.ordered(rows, call.query.get("sort", ""))
    return page(
        call,
        "issues",
        rows,
        lambda row: views.issue(call.tracker, row, spent=_shows_hours(call, row.project_id)),
    )


def issue(call: Call) -> Answer:
    """GET /issues/:id.json with the usual includes."""
    row = issues.find(call)
    tracker = call.tracker
    shown = views.issue(tracker, row, spent=_shows_hours(call, row.project_id))
    include = call.query.get("include", "").split(",")
    if "journals" in include:
        shown["journals"] = [_journal(call, entry) for entry in row.journals if _is_shown(call, row, entry)]
    if "attachments" in include:
        files = tracker.attachments_of(row.id)
        shown["attachments"] = [views.attachment(tracker, one, call.host) for one in files]
    if "children" in include and (below := may.children(tracker, row)):
        shown["children"] = [
            {
                "id": one.id,
                "tracker": views.named(tracker.issue_types[one.tracker_id]),
                "subject": one.subject,
            }
            for one in below
        ]
    project = tracker.projects[row.project_id]
    if "watchers" in include and may.allowed(tracker, call.user, "view_issue_watchers", project):
        shown["watchers"] = [views.named(tracker.users[n]) for n in row.watchers]
    if "allowed_statuses" in include:
        allowed = may.allowed_statuses(tracker, call.user, row)
        shown["allowed_statuses"] = [
            {**views.named(s), "is_closed": s.is_closed} for s in tracker.statuses.values() if s.id in allowed
        ]
    return answers.ok({"issue": shown})


def _is_shown(call: Call, issue: Issue, entry: dict[str, Any]) -> bool:
    """Return whether a journal is shown: private notes only to their author and to users with the permission."""
    project = call.tracker.projects[issue.project_id]
    is_own = entry["user_id"] == call.user.id
    return (
        not entry.get("private_notes")
        or is_own
        or may.allowed(call.tracker, call.user, "view_private_notes", project)
    )


def _journal(call: Call, entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": entry.get("id"),
        "user": views.named(call.tracker.users[entry["user_id"]]),
        "notes": entry.get("notes", ""),
        "created_on": views.stamp(entry["created_on"]),
        "private_notes": entry.get("private_notes", False),
        "details": [
            {
                "property": change.get("property", "attr"),
                "name": change["name"],
                "old_value": None if change["from"] is None else str(change["from"]),
                "new_value": None if change["to"] is None else str(change["to"]),
            }
            for change in entry["details"]
        ],
    }


def time_entry_list(call: Call) -> Answer:
    """GET /time_entries.json: latest day first, then newest; an unknown issue gives an empty list.

    A `sort` only switches this order off, because Redmine honours none of the keys that clients try.
    """
    require_reader(call)
    tracker = call.tracker
    tests, covered = (
        filters.time_entry_tests(call),
        _projects_asked_for(call, "view_time_entries"),
    )
    issue_id = call.query.get("issue_id")
    rows = list(tracker.time_entries.values())
    if issue_id:
        wanted = [fields.whole(part) or 0 for part in issue_id.replace("|", ",").split(",")]
        rows = [
            tracker.time_entries[n] for number in wanted for n in tracker.entries_of_issue.get(number, ())
        ]
    rows = [row for row in rows if row.project_id in covered and all(test(row) for test in tests)]
    if not call.query.get("sort"):
        rows.sort(key=lambda row: (row.spent_on, row.created_on, row.id), reverse=True)
    return page(call, "time_entries", rows, lambda row: views.time_entry(tracker, row))


def time_entry(call: Call) -> Answer:
    """GET /time_entries/:id.json."""
    row = time_entries.find(call)
    project = call.tracker.projects[row.project_id]
    hidden = not may.allowed(call.tracker, call.user, "view_time_entries", project)
    if hidden and call.tracker.release.hides_entries and not may.is_anonymous(call.user):
        raise RefusedError(answers.empty(404))
    call.require("view_time_entries", call.tracker.projects[row.project_id])
    return answers.ok({"time_entry": views.time_entry(call.tracker, row)})
