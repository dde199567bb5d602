"""The tracker's decisions about creating, closing, archiving and deleting projects."""

from __future__ import annotations

import re
from typing import Any

from deploy.sandbox.tracker import answers, fields, views
from deploy.sandbox.tracker import permissions as may
from deploy.sandbox.tracker.answers import Answer, RefusedError
from deploy.sandbox.tracker.calls import Call
from deploy.sandbox.tracker.records import ACTIVE, ARCHIVED, CLOSED, Membership, Project

DEFAULT_MODULES = [
    "issue_tracking",
    "time_tracking",
    "news",
    "documents",
    "files",
    "wiki",
    "repository",
    "boards",
    "calendar",
    "gantt",
]
NAME_LIMIT, IDENTIFIER_LIMIT = 255, 100
_IDENTIFIER = re.compile(r"(?![0-9]+\Z)[a-z0-9_-]*")


def create(call: Call) -> Answer:
    """POST /projects.json."""
    tracker = call.tracker
    given = call.params.get("project")
    attributes: dict[str, Any] = given if isinstance(given, dict) else {}
    if not may.allowed_anywhere(tracker, call.user, "add_project"):
        raise call.forbidden()
    values, errors = fields.custom_values(call, "project", attributes)
    parent = _parent(call, attributes, errors)
    name = fields.text(attributes.get("name")) or ""
    identifier = fields.text(attributes.get("identifier")) or ""
    description = fields.text(attributes.get("description"))
    errors += _name_errors(call, name, identifier)
    fields.refuse_null_character(call, name, description)
    if errors:
        raise RefusedError(answers.invalid(errors))
    modules = attributes.get("enabled_module_names")
    now = tracker.now()
    project = Project(
        id=tracker.next_id("projects"),
        name=name,
        identifier=identifier,
        description=description,
        is_public=_flag(attributes.get("is_public"), default=True),
        parent_id=parent.id if parent else None,
        inherit_members=_flag(attributes.get("inherit_members"), default=False),
        modules=[str(m) for m in modules] if isinstance(modules, list) else list(DEFAULT_MODULES),
        tracker_ids=_issue_types(call, attributes),
        values=values,
        created_on=now,
        updated_on=now,
    )
    tracker.add_project(project)
    if not call.user.admin:
        row_id = tracker.next_id("memberships")
        tracker.add_membership(Membership(row_id, project.id, call.user.id, [may.MANAGER_ROLE]))
    shown = {"project": views.project(tracker, project)}
    return answers.created(shown, call.location(f"/projects/{project.id}"))


def _flag(value: object, *, default: bool) -> bool:
    return default if value is None else value in (True, 1, "1", "true")


def _issue_types(call: Call, attributes: dict[str, Any]) -> list[int]:
    known = list(call.tracker.issue_types)
    given = attributes.get("tracker_ids")
    wanted = [fields.whole(value) for value in given] if isinstance(given, list) else known
    return [number for number in known if number in wanted] or known


def _parent(call: Call, attributes: dict[str, Any], errors: list[str]) -> Project | None:
    """Return the parent project: 500 if it is unknown, an error if it is not active."""
    reference = attributes.get("parent_id")
    if reference in (None, ""):
        return None
    number = fields.whole(reference)
    parent = call.tracker.projects.get(number) if number is not None else None
    if parent is None:
        raise RefusedError(answers.broken())
    if parent.status != ACTIVE or not may.allowed(call.tracker, call.user, "add_subprojects", parent):
        errors.append(call.fault("parent", "invalid"))
    return parent


def _name_errors(call: Call, name: str, identifier: str) -> list[str]:
    errors = []
    if fields.blank(name):
        errors.append(call.fault("name", "blank"))
    if fields.blank(identifier):
        errors.append(call.fault("identifier", "blank"))
    elif _identifier_taken(call, identifier):
        errors.append(call.fault("identifier", "taken"))
    if len(name) > NAME_LIMIT:
        errors.append(call.fault("name", "too_long", NAME_LIMIT))
    if len(identifier) > IDENTIFIER_LIMIT:
        errors.append(call.fault("identifier", "too_long", IDENTIFIER_LIMIT))
    if identifier and not _IDENTIFIER.fullmatch(identifier):
        errors.append(call.fault("identifier", "invalid"))
    if identifier == "new":
        errors.append(call.fault("identifier", "reserved"))
    return errors


def _identifier_taken(call: Call, identifier: str) -> bool:
    """Return whether the identifier exists; in the simulated race, only projects older than the call count."""
    race = call.tracker.settings.duplicate_identifiers_race and not call.tracker.release.unique_identifiers
    return any(
        project.identifier == identifier and not (race and project.committed > call.arrived)
        for project in call.tracker.projects.values()
    )


def delete(call: Call) -> Answer:
    """DELETE /projects/:id.json, with everything in it and below it."""
    project = call.project_in_path()
    if not call.user.admin:
        call.require("delete_project", project)
    if call.tracker.release.deletes_projects_later:
        call.tracker.begin_deletion(project)
    else:
        call.tracker.delete_project(project)
    return answers.done()


def close(call: Call) -> Answer:
    """PUT /projects/:id/close.json."""
    project = call.project_in_path()
    call.require("close_project", project)
    return _set_status(call, project, CLOSED, taking=ACTIVE)


def reopen(call: Call) -> Answer:
    """PUT /projects/:id/reopen.json."""
    project = call.project_in_path()
    call.require("view_project", project)
    call.require_admin()
    return _set_status(call, project, ACTIVE, taking=CLOSED)


def archive(call: Call) -> Answer:
    """PUT /projects/:id/archive.json."""
    project = call.project_in_path()
    call.require_admin()
    return _set_status(call, project, ARCHIVED)


def unarchive(call: Call) -> Answer:
    """PUT /projects/:id/unarchive.json."""
    project = call.project_in_path()
    call.require_admin()
    return _set_status(call, project, ACTIVE)


def _set_status(call: Call, project: Project, status: int, *, taking: int | None = None) -> Answer:
    """Set the status of a project and those below it, or only its own to unarchive it; `taking` is the old status."""
    rows = [project] if (status, taking) == (ACTIVE, None) else call.tracker.descendants(project)
    for row in rows:
        if taking in (None, row.status):
            row.status = status
            row.updated_on = call.tracker.now()
    call.tracker.changes += 1
    return answers.done()
