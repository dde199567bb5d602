"""The tracker's decisions about creating, changing and deleting issues."""

from __future__ import annotations

import time
from typing import Any

from deploy.sandbox.tracker import answers, attachments, fields, views
from deploy.sandbox.tracker import permissions as may
from deploy.sandbox.tracker.answers import Answer, RefusedError
from deploy.sandbox.tracker.calls import Call
from deploy.sandbox.tracker.records import STATUS_NEW, USER_LOCKED, Attachment, Issue, Project

SUBJECT_LIMIT = 255


def create(call: Call) -> Answer:
    """POST /issues.json and /projects/:id/issues.json."""
    attributes = call.params.get("issue") or {}
    if not isinstance(attributes, dict):
        raise RefusedError(answers.broken())
    if call.ids:
        attributes = {**attributes, "project_id": call.project_in_path().id}
    project = _target(call, attributes.get("project_id"))
    if project is None and not may.allowed_anywhere(call.tracker, call.user, "add_issues"):
        raise call.forbidden()
    watchers = _watchers(call, project, attributes)
    if project is None:
        raise RefusedError(answers.invalid(_without_project(call, attributes)))
    issue = _validated(call, project, attributes, watchers)
    call.tracker.add_issue(issue)
    return answers.created(
        {"issue": views.issue(call.tracker, issue)},
        call.location(f"/issues/{issue.id}"),
    )


def _target(call: Call, reference: object) -> Project | None:
    """Return the project for an issue, or None if it is not active or the caller may not create issues in it."""
    project = None if reference is None else call.tracker.find_project(reference)
    return project if may.allowed(call.tracker, call.user, "add_issues", project) else None


def _without_project(call: Call, attributes: dict[str, Any]) -> list[str]:
    errors = [call.fault("subject", "blank")] if fields.blank(fields.text(attributes.get("subject"))) else []
    return errors + [call.fault(name, "blank") for name in ("project", "tracker", "status")]


def _watchers(call: Call, project: Project | None, attributes: dict[str, Any]) -> list[int]:
    """Return the watchers to set: none if the caller may not add any; 404 for an unknown id."""
    if not may.allowed(call.tracker, call.user, "add_issue_watchers", project):
        return []
    given = attributes.get("watcher_user_ids")
    listed = given if isinstance(given, list) else [] if given is None else [given]
    ids = list(dict.fromkeys(fields.whole(value) or 0 for value in listed if value != ""))
    if any(number not in call.tracker.users for number in ids):
        raise RefusedError(answers.missing_watcher())
    if call.tracker.release.creator_watches and call.user.id not in ids:
        ids.append(call.user.id)
    return ids


def _validated(call: Call, project: Project, attributes: dict[str, Any], watchers: list[int]) -> Issue:
    tracker = call.tracker
    read_only = may.field_rule(tracker, call.user, project, "read_only")
    attributes = {name: value for name, value in attributes.items() if name not in read_only}
    subject = fields.text(attributes.get("subject"))
    description = fields.edited(call, fields.text(attributes.get("description")))
    description = fields.stored_lines(description)
    values, errors = fields.custom_values(call, "issue", attributes)
    if any(tracker.users[number].status == USER_LOCKED for number in watchers):
        errors.append(call.fault("watchers", "invalid"))
    if fields.blank(subject):
        errors.append(call.fault("subject", "blank"))
    priority_id = _priority(call, attributes)
    if priority_id is None:
        errors.append(call.fault("priority", "blank"))
    if subject is not None and len(subject) > SUBJECT_LIMIT:
        errors.append(call.fault("subject", "too_long", SUBJECT_LIMIT))
    category_id, assignee_id = _category_and_assignee(call, project, attributes, errors)
    errors += [
        call.fault(name.removesuffix("_id"), "blank")
        for name in sorted(may.field_rule(tracker, call.user, project, "required"))
        if attributes.get(name) in (None, "")
    ]
    parent_id = fields.whole(attributes.get("parent_issue_id"))
    if parent_id is not None and parent_id not in tracker.issues:
        errors.append(call.fault("parent_task", "invalid"))
    fields.refuse_null_character(call, subject, description)
    now = tracker.now()
    start_date, due_date = _dates(call, attributes, time.strftime("%Y-%m-%d", time.gmtime(now)), errors)
    if errors or subject is None or priority_id is None:
        raise RefusedError(answers.invalid(errors))
    status_id = _first_status(call, project, attributes)
    return Issue(
        id=tracker.next_id("issues"),
        project_id=project.id,
        tracker_id=_issue_type(call, project, attributes),
        status_id=status_id,
        priority_id=priority_id,
        author_id=call.user.id,
        subject=subject,
        description=description,
        category_id=category_id,
        assigned_to_id=assignee_id,
        start_date=start_date,
        due_date=due_date,
        parent_id=parent_id,
        watchers=watchers,
        values=values,
        created_on=now,
        updated_on=now,
        closed_on=now if tracker.statuses[status_id].is_closed else None,
    )


def _dates(call: Call, attributes: dict[str, Any], today: str, errors: list[str]) -> tuple[str, str | None]:
    """Return the start date, today by default, and the due date, which must not be before it."""
    given = {name: attributes.get(name) for name in ("start_date", "due_date")}
    read = {name: fields.iso_date(value) for name, value in given.items()}
    errors += [call.fault(name, "not_a_date") for name, value in given.items() if value and not read[name]]
    start, due = read["start_date"] or today, read["due_date"]
    if due is not None and due < start:
        errors.append(call.fault("due_date", "before_start"))
    return start, due


def _issue_type(call: Call, project: Project, attributes: dict[str, Any]) -> int:
    """Return the requested issue type, silently replaced by the first that the caller may use in the project."""
    wanted, usable = (
        fields.whole(attributes.get("tracker_id")),
        may.issue_types(call.tracker, call.user, project),
    )
    return wanted if wanted in usable else (usable or project.tracker_ids)[0]


def _first_status(call: Call, project: Project, attributes: dict[str, Any]) -> int:
    """Return New, whatever was requested, unless the caller may choose the status of new issues."""
    wanted = fields.whole(attributes.get("status_id"))
    has_role = call.user.admin or bool(may.member_role_ids(call.tracker, call.user.id, project))
    if call.tracker.settings.new_issue_statuses and has_role and wanted in call.tracker.statuses:
        return wanted
    return STATUS_NEW


def _priority(call: Call, attributes: dict[str, Any]) -> int | None:
    blank = call.tracker.release.blank_priority and attributes.get("priority_id") in (None, "")
    if "priority_id" in attributes and not blank:
        wanted = fields.whole(attributes["priority_id"])
        return wanted if wanted in call.tracker.priorities else None
    return next((row.id for row in call.tracker.priorities.values() if row.is_default), None)


def _category_and_assignee(
    call: Call, project: Project, attributes: dict[str, Any], errors: list[str]
) -> tuple[int | None, int | None]:
    category_id = fields.whole(attributes.get("category_id"))
    category = call.tracker.categories.get(category_id or 0)
    if category_id is not None and (category is None or category.project_id != project.id):
        errors.append(call.fault("category", "inclusion"))
    assignee_id = fields.whole(attributes.get("assigned_to_id"))
    if assignee_id is None and category is not None:
        assignee_id = category.assigned_to_id
    if assignee_id is not None:
        assignee = call.tracker.users.get(assignee_id)
        is_active = assignee is not None and assignee.status != USER_LOCKED
        if not is_active or not may.member_role_ids(call.tracker, assignee_id, project):
            errors.append(call.fault("assignee", "invalid"))
    return category_id, assignee_id


def find(call: Call) -> Issue:
    """Return the issue in the path: 404 if there is none, 403 if the caller may not see it."""
    issue = call.tracker.issues.get(fields.whole(call.ids[0]) or 0)
    if issue is None:
        raise RefusedError(answers.empty(404))
    if not may.sees(call.tracker, call.user, issue):
        raise call.forbidden()
    return issue


def update(call: Call) -> Answer:
    """PUT /issues/:id.json; a status that the workflow refuses is silently ignored."""
    tracker, issue = call.tracker, find(call)
    project = tracker.projects[issue.project_id]
    may_edit = may.allowed(tracker, call.user, "edit_issues", project)
    if not may_edit:
        call.require("add_issue_notes", project)
    attributes = call.params.get("issue") or {}
    if not isinstance(attributes, dict):
        raise RefusedError(answers.broken())
    expected = fields.whole(attributes.get("lock_version"))
    stale = tracker.settings.put_conflicts and issue.committed > call.arrived
    if stale or (expected is not None and expected != issue.lock_version):
        raise RefusedError(answers.invalid([]))
    may_note = may.allowed(tracker, call.user, "add_issue_notes", project)
    notes = (fields.text(attributes.get("notes")) or "") if may_note else ""
    fields.refuse_null_character(call, notes)
    files = attachments.named(call, attributes)
    if may_edit:
        _apply(call, issue, attributes, notes, files)
    elif files or not fields.blank(notes):
        _change(call, issue, {}, notes, files, private=_is_private(call, project, attributes))
    return answers.done()


def _is_private(call: Call, project: Project, attributes: dict[str, Any]) -> bool:
    """Return whether the notes are private; a caller without that permission is silently ignored."""
    wanted = attributes.get("private_notes") in (True, 1, "1", "true")
    return wanted and may.allowed(call.tracker, call.user, "set_notes_private", project)


def _apply(call: Call, issue: Issue, attributes: dict[str, Any], notes: str, files: list[Attachment]) -> None:
    tracker = call.tracker
    subject = fields.text(attributes.get("subject", issue.subject))
    if subject is None or fields.blank(subject):
        raise RefusedError(answers.invalid([call.fault("subject", "blank")]))
    if len(subject) > SUBJECT_LIMIT:
        raise RefusedError(answers.invalid([call.fault("subject", "too_long", SUBJECT_LIMIT)]))
    description = issue.description
    if "description" in attributes:
        description = fields.edited(call, fields.text(attributes["description"]))
    fields.refuse_null_character(call, subject, description, notes)
    project = _target(call, attributes.get("project_id")) or tracker.projects[issue.project_id]
    wanted = fields.whole(attributes.get("status_id"))
    if wanted not in tracker.statuses or wanted not in may.allowed_statuses(tracker, call.user, issue):
        wanted = issue.status_id
    after = {
        "subject": subject,
        "description": fields.stored_lines(description),
        "project_id": project.id,
        "status_id": wanted,
        **_references(call, project, attributes),
    }
    read_only = may.field_rule(tracker, call.user, project, "read_only")
    after = {name: value for name, value in after.items() if name not in read_only}
    _change(call, issue, after, notes, files, private=_is_private(call, project, attributes))


def _references(call: Call, project: Project, attributes: dict[str, Any]) -> dict[str, int | None]:
    """Return issue type, priority and category of a change; an unknown priority or category is refused."""
    tracker, found, errors = call.tracker, dict[str, int | None](), list[str]()
    if fields.whole(attributes.get("tracker_id")) in may.issue_types(tracker, call.user, project):
        found["tracker_id"] = fields.whole(attributes["tracker_id"])
    if "priority_id" in attributes:
        found["priority_id"] = fields.whole(attributes["priority_id"])
        if found["priority_id"] not in tracker.priorities:
            errors.append(call.fault("priority", "blank"))
    if "category_id" in attributes:
        found["category_id"] = fields.whole(attributes["category_id"])
        category = tracker.categories.get(found["category_id"] or 0)
        if attributes["category_id"] and (category is None or category.project_id != project.id):
            errors.append(call.fault("category", "inclusion"))
    if errors:
        raise RefusedError(answers.invalid(errors))
    return found


def _change(
    call: Call,
    issue: Issue,
    after: dict[str, Any],
    notes: str,
    files: list[Attachment],
    *,
    private: bool = False,
) -> None:
    """Apply the differences and record them, notes and new files in one journal; without any, only set the date.

    Private notes have a separate journal.
    """
    now = call.tracker.now()
    details = [
        {"name": name, "from": getattr(issue, name), "to": value}
        for name, value in after.items()
        if getattr(issue, name) != value
    ]
    for one in files:
        one.issue_id = issue.id
        details.append({"property": "attachment", "name": str(one.id), "from": None, "to": one.filename})
    if not details and fields.blank(notes):
        issue.updated_on = now
        return
    status_id = after.get("status_id", issue.status_id)
    if issue.status_id != status_id and call.tracker.statuses[status_id].is_closed:
        issue.closed_on = now
    for name, value in after.items():
        setattr(issue, name, value)
    for entry_id in call.tracker.entries_of_issue.get(issue.id, ()):  # they move to another project with it
        call.tracker.time_entries[entry_id].project_id = issue.project_id
    notes = fields.edited(call, notes) or ""
    is_split = private and bool(details) and not fields.blank(notes)
    parts = [("", details, False), (notes, [], True)] if is_split else [(notes, details, private)]
    issue.journals += [
        {
            "id": call.tracker.next_journal_id(),
            "user_id": call.user.id,
            "created_on": now,
            "notes": text,
            "details": changes,
            "private_notes": is_private,
        }
        for text, changes, is_private in parts
    ]
    issue.updated_on, issue.committed = now, time.monotonic()
    issue.lock_version += 1
    call.tracker.changes += 1


def delete(call: Call) -> Answer:
    """DELETE /issues/:id.json, with its subtasks and all their time entries."""
    issue = find(call)
    call.require("delete_issues", call.tracker.projects[issue.project_id])
    call.tracker.delete_issue(issue.id)
    return answers.done()
