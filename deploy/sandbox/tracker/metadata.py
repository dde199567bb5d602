"""The lists that the metadata synchronisation reads, except for projects."""

from __future__ import annotations

from typing import Any

from deploy.sandbox.tracker import answers, fields, filters, memberships, views
from deploy.sandbox.tracker import permissions as may
from deploy.sandbox.tracker.answers import Answer, RefusedError
from deploy.sandbox.tracker.calls import Call
from deploy.sandbox.tracker.paging import page, require_reader
from deploy.sandbox.tracker.records import USER_ACTIVE, Category, User


def issue_types(call: Call) -> Answer:
    """GET /trackers.json."""
    require_reader(call)
    first = views.named(call.tracker.statuses[1])
    rows = [
        {
            **views.named(row),
            "default_status": first,
            "description": None,
            "enabled_standard_fields": views.STANDARD_FIELDS,
        }
        for row in call.tracker.issue_types.values()
    ]
    return answers.ok({"trackers": rows})


def statuses(call: Call) -> Answer:
    """GET /issue_statuses.json."""
    require_reader(call)
    more = {"description": None} if call.tracker.release.tells_more else {}
    rows = [{**views.named(s), "is_closed": s.is_closed, **more} for s in call.tracker.statuses.values()]
    return answers.ok({"issue_statuses": rows})


def priorities(call: Call) -> Answer:
    """GET /enumerations/issue_priorities.json."""
    require_reader(call)
    return answers.ok(
        {"issue_priorities": [views.enumeration(row) for row in call.tracker.priorities.values()]}
    )


def activities(call: Call) -> Answer:
    """GET /enumerations/time_entry_activities.json: the global activities, inactive ones included."""
    require_reader(call)
    rows = [row for row in call.tracker.activities.values() if row.project_id is None]
    return answers.ok({"time_entry_activities": [views.enumeration(row) for row in rows]})


def roles(call: Call) -> Answer:
    """GET /roles.json: the roles that can be assigned."""
    require_reader(call)
    return answers.ok({"roles": [views.named(row) for row in call.tracker.roles.values() if not row.builtin]})


def role(call: Call) -> Answer:
    """GET /roles/:id.json: any role, built-in ones included."""
    require_reader(call)
    row = call.tracker.roles.get(fields.whole(call.ids[0]) or 0)
    if row is None:
        raise RefusedError(answers.empty(404))
    shown = {
        **views.named(row),
        "assignable": True,
        "issues_visibility": row.issues_visibility,
        "time_entries_visibility": "all",
        "users_visibility": "members_of_visible_projects" if call.tracker.release.tells_more else "all",
        "permissions": row.permissions,
    }
    return answers.ok({"role": shown})


def users(call: Call) -> Answer:
    """GET /users.json, administrators only: by login, without locked users unless requested."""
    call.require_admin()
    tests = filters.user_tests(call)
    rows = [row for row in call.tracker.users.values() if row.login and all(test(row) for test in tests)]
    rows.sort(key=lambda row: row.login.lower())
    return page(call, "users", rows, lambda row: views.listed_user(row, call.tracker.release))


def current_user(call: Call) -> Answer:
    """GET /users/current.json: the acting user with their own key, as in Redmine."""
    if may.is_anonymous(call.user):
        raise call.forbidden()
    return answers.ok({"user": views.user(call.user, viewer=call.user)})


def user(call: Call) -> Answer:
    """GET /users/:id.json."""
    row = call.tracker.users.get(fields.whole(call.ids[0]) or 0)
    if row is None or not row.login or (row.status != USER_ACTIVE and not call.user.admin):
        raise RefusedError(answers.empty(404))
    shown = views.user(row, viewer=call.user)
    if "memberships" in call.query.get("include", "").split(","):
        shown["memberships"] = _memberships(call, row)
    return answers.ok({"user": shown})


def _memberships(call: Call, user: User) -> list[dict[str, Any]]:
    """Return a user's memberships of projects that the caller sees, inherited ones included."""
    tracker, found = call.tracker, []
    for project in tracker.projects.values():
        if may.allowed(tracker, call.user, "view_project", project):
            found += [
                {name: shown for name, shown in views.membership(tracker, row).items() if name != "user"}
                for row in memberships.listed(call, project)
                if row.user_id == user.id
            ]
    return found


def categories(call: Call) -> Answer:
    """GET /projects/:id/issue_categories.json."""
    row = call.project_in_path()
    call.require("view_issues" if call.tracker.release.open_categories else "manage_categories", row)
    found = [
        {"id": c.id, "project": views.named(row), "name": c.name} | _assignee(call, c)
        for c in call.tracker.categories.values()
        if c.project_id == row.id
    ]
    return answers.ok({"issue_categories": found, "total_count": len(found)})


def _assignee(call: Call, category: Category) -> dict[str, Any]:
    assignee = call.tracker.users.get(category.assigned_to_id or 0)
    return {"assigned_to": views.named(assignee)} if assignee else {}


def custom_fields(call: Call) -> Answer:
    """GET /custom_fields.json, administrators only."""
    call.require_admin()
    rows = [views.custom_field(call.tracker, row) for row in call.tracker.custom_fields.values()]
    return answers.ok({"custom_fields": rows})
