"""Permissions in projects, and the status transitions that the workflow allows."""

from __future__ import annotations

from deploy.sandbox.tracker.records import (
    ACTIVE,
    ANONYMOUS_ID,
    ANONYMOUS_ROLE,
    ARCHIVED,
    NON_MEMBER_ROLE,
    Issue,
    Project,
    Role,
    User,
)
from deploy.sandbox.tracker.state import Tracker

ANONYMOUS = {"view_issues", "view_time_entries"}
NON_MEMBER = ANONYMOUS | {"add_issues", "add_issue_notes"}
REPORTER = NON_MEMBER | {"log_time"}
DEVELOPER = REPORTER | {"edit_issues", "manage_categories", "view_private_notes", "set_notes_private"}
MANAGER = DEVELOPER | {
    "add_issue_watchers",
    "view_issue_watchers",
    "add_project",
    "add_subprojects",
    "close_project",
    "delete_issues",
    "delete_project",
    "edit_own_time_entries",
    "edit_project",
    "edit_time_entries",
    "log_time_for_other_users",
    "manage_members",
}
READING = {
    "view_issue_watchers",
    "view_issues",
    "view_private_notes",
    "view_time_entries",
    "view_project",
    "view_members",
    "delete_project",
}
FOR_EVERYONE = {"view_project", "view_members"}
MODULE = {
    "view_issues": "issue_tracking",
    "add_issues": "issue_tracking",
    "edit_issues": "issue_tracking",
    "add_issue_notes": "issue_tracking",
    "view_private_notes": "issue_tracking",
    "set_notes_private": "issue_tracking",
    "delete_issues": "issue_tracking",
    "add_issue_watchers": "issue_tracking",
    "view_issue_watchers": "issue_tracking",
    "manage_categories": "issue_tracking",
    "log_time": "time_tracking",
    "view_time_entries": "time_tracking",
    "edit_time_entries": "time_tracking",
    "edit_own_time_entries": "time_tracking",
    "log_time_for_other_users": "time_tracking",
}
# status id -> allowed next ids; the administrator and managers may set any
DEVELOPER_MOVES = {1: {2, 3, 4, 5}, 2: {3, 4, 5}, 3: {2, 4, 5}, 4: {2, 3, 5}}
REPORTER_MOVES = {1: {5}, 2: {5}, 3: {4, 5}, 4: {5}}
MANAGER_ROLE, DEVELOPER_ROLE, REPORTER_ROLE = 3, 4, 5


def is_anonymous(user: User) -> bool:
    """Return whether this is the caller without a valid key."""
    return user.id == ANONYMOUS_ID


def builtin_role(tracker: Tracker, user: User) -> Role:
    """Return the role of a user in projects without a membership."""
    return tracker.roles[ANONYMOUS_ROLE if is_anonymous(user) else NON_MEMBER_ROLE]


def member_role_ids(tracker: Tracker, user_id: int, project: Project | None) -> list[int]:
    """Return a member's role ids in a project, with those inherited from its parents; empty for a non-member."""
    found: list[int] = []
    while project is not None:
        row = tracker.members.get((project.id, user_id))
        if row is not None:
            found += [role_id for role_id in row.role_ids if role_id not in found]
        if not project.inherit_members or project.parent_id is None:
            break
        project = tracker.projects.get(project.parent_id)
    return found


def roles_in(tracker: Tracker, user: User, project: Project) -> list[Role]:
    """Return the roles of a user in a project; none for a non-member of a private one."""
    role_ids = member_role_ids(tracker, user.id, project)
    if role_ids:
        return [tracker.roles[role_id] for role_id in role_ids if role_id in tracker.roles]
    return [builtin_role(tracker, user)] if project.is_public else []


def possible(project: Project, permission: str) -> bool:
    """Return whether anyone can have a permission in a project, by its status and modules."""
    if project.status == ARCHIVED or (project.status != ACTIVE and permission not in READING):
        return False
    module = MODULE.get(permission)
    return module is None or module in project.modules


def allowed(tracker: Tracker, user: User, permission: str, project: Project | None) -> bool:
    """Return whether a user has a permission in a project; closed ones allow reading, archived ones nothing."""
    if project is None or not possible(project, permission):
        return False
    if user.admin:
        return True
    roles = roles_in(tracker, user, project)
    if permission in FOR_EVERYONE:
        return bool(roles)
    return any(permission in role.permissions for role in roles)


def sees(tracker: Tracker, user: User, issue: Issue) -> bool:
    """Return whether a user sees an issue: some role shows all issues, or the issue is the user's own."""
    project = tracker.projects[issue.project_id]
    if not allowed(tracker, user, "view_issues", project):
        return False
    seeing = [role for role in roles_in(tracker, user, project) if "view_issues" in role.permissions]
    shows_all = user.admin or any(role.issues_visibility != "own" for role in seeing)
    return shows_all or user.id in (issue.author_id, issue.assigned_to_id)


def field_rule(tracker: Tracker, user: User, project: Project, rule: str) -> set[str]:
    """Return the fields that the workflow makes `read_only` or `required` for a user, in every role that counts.

    An administrator has all roles. Roles count if they may create or change issues.
    """
    roles = list(tracker.roles.values()) if user.admin else roles_in(tracker, user, project)
    counting = [role for role in roles if {"add_issues", "edit_issues"} & set(role.permissions)]
    return set.intersection(*(set(getattr(role, rule)) for role in counting)) if counting else set()


def issue_types(tracker: Tracker, user: User, project: Project) -> list[int]:
    """Return the issue types of a project of which a user may create issues."""
    if user.admin:
        return project.tracker_ids
    adding = [role for role in roles_in(tracker, user, project) if "add_issues" in role.permissions]
    return [
        number
        for number in project.tracker_ids
        if any(not role.issue_type_ids or number in role.issue_type_ids for role in adding)
    ]


def allowed_anywhere(tracker: Tracker, user: User, permission: str) -> bool:
    """Return whether a user has a permission in any project; the non-member role counts too."""
    if user.admin or permission in builtin_role(tracker, user).permissions:
        return True
    for project_id in tracker.member_projects.get(user.id, ()):
        project = tracker.projects[project_id]
        if project.status != ARCHIVED and any(
            permission in role.permissions for role in roles_in(tracker, user, project)
        ):
            return True
    return False


def visible_project_ids(tracker: Tracker, user: User, permission: str) -> set[int]:
    """Return the ids of the projects in which a user has a (reading) permission."""
    return {p.id for p in tracker.projects.values() if allowed(tracker, user, permission, p)}


def allowed_statuses(tracker: Tracker, user: User, issue: Issue) -> set[int]:
    """Return the ids of the statuses that a user may set on an issue and the current one; empty without a transition.

    The administrator may make every transition that some role may make. An issue with open subtasks cannot be closed.
    """
    found = _moves(tracker, user, issue)
    found -= {after for before, after in tracker.settings.closed_moves if before == issue.status_id}
    found |= {issue.status_id} if found else set()
    if any(not tracker.statuses[one.status_id].is_closed for one in children(tracker, issue)):
        found = {one for one in found if not tracker.statuses[one].is_closed}
    return found


def children(tracker: Tracker, issue: Issue) -> list[Issue]:
    """Return the subtasks of an issue."""
    return [tracker.issues[number] for number in sorted(tracker.below_issue.get(issue.id, ()))]


def _moves(tracker: Tracker, user: User, issue: Issue) -> set[int]:
    if user.admin:
        return set(tracker.statuses)
    project = tracker.projects[issue.project_id]
    found: set[int] = set()
    for role_id in member_role_ids(tracker, user.id, project):
        if role_id == MANAGER_ROLE:
            return set(tracker.statuses)
        moves = {DEVELOPER_ROLE: DEVELOPER_MOVES, REPORTER_ROLE: REPORTER_MOVES}.get(role_id, {})
        found |= moves.get(issue.status_id, set())
    return found
