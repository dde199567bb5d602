"""The tracker's decisions about members of projects."""

from __future__ import annotations

from deploy.sandbox.tracker import answers, fields, views
from deploy.sandbox.tracker import permissions as may
from deploy.sandbox.tracker.answers import Answer, RefusedError
from deploy.sandbox.tracker.calls import Call
from deploy.sandbox.tracker.records import ANONYMOUS_ID, Membership, Project


def listed(call: Call, project: Project) -> list[Membership]:
    """Return the memberships of a project, inherited ones included."""
    rows = [row for row in call.tracker.memberships.values() if row.project_id == project.id]
    parent = call.tracker.projects.get(project.parent_id or 0) if project.inherit_members else None
    if parent is not None:
        known = {row.user_id for row in rows}
        rows += [
            Membership(row.id, project.id, row.user_id, row.role_ids)
            for row in listed(call, parent)
            if row.user_id not in known
        ]
    return rows


def create(call: Call) -> Answer:
    """POST /projects/:id/memberships.json."""
    tracker, project = call.tracker, call.project_in_path()
    call.require("manage_members", project)
    attributes = call.params.get("membership")
    if not isinstance(attributes, dict):
        raise RefusedError(answers.broken())
    user = tracker.users.get(fields.whole(attributes.get("user_id")) or 0)
    if user is not None and user.id == ANONYMOUS_ID:
        user = None
    role_ids = _role_ids(call, attributes.get("role_ids"))
    errors = []
    if user is None:
        errors.append(call.fault("member" if call.tracker.release.tells_more else "principal", "blank"))
    elif may.member_role_ids(tracker, user.id, project):
        errors.append(call.fault("user", "taken"))
    if not role_ids:
        errors.append(call.fault("role", "empty"))
    if errors or user is None:
        raise RefusedError(answers.invalid(errors))
    row = Membership(tracker.next_id("memberships"), project.id, user.id, role_ids)
    tracker.add_membership(row)
    shown = {"membership": views.membership(tracker, row)}
    return answers.created(shown, call.location(f"/memberships/{row.id}"))


def _role_ids(call: Call, given: object) -> list[int]:
    """Return the roles that exist and can be assigned; others are dropped."""
    numbers = [fields.whole(value) for value in given] if isinstance(given, list) else []
    return [n for n in numbers if n in call.tracker.roles and not call.tracker.roles[n].builtin]


def _find(call: Call) -> Membership:
    row = call.tracker.memberships.get(fields.whole(call.ids[0]) or 0)
    if row is None:
        raise RefusedError(answers.empty(404))
    call.require("manage_members", call.tracker.projects[row.project_id])
    return row


def update(call: Call) -> Answer:
    """PUT /memberships/:id.json."""
    row = _find(call)
    attributes = call.params.get("membership")
    role_ids = _role_ids(call, attributes.get("role_ids")) if isinstance(attributes, dict) else []
    if not role_ids:
        raise RefusedError(answers.invalid([call.fault("role", "empty")]))
    row.role_ids = role_ids
    call.tracker.changes += 1
    return answers.done()


def delete(call: Call) -> Answer:
    """DELETE /memberships/:id.json."""
    call.tracker.delete_membership(_find(call).id)
    return answers.done()
