"""Rows as responses show them."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote

from deploy.sandbox.tracker import fields
from deploy.sandbox.tracker.records import (
    Attachment,
    CustomField,
    Enumeration,
    Issue,
    Membership,
    Project,
    TimeEntry,
    User,
)
from deploy.sandbox.tracker.releases import Release
from deploy.sandbox.tracker.state import Tracker

STANDARD_FIELDS = [
    "assigned_to_id",
    "category_id",
    "fixed_version_id",
    "parent_issue_id",
    "start_date",
    "due_date",
    "estimated_hours",
    "done_ratio",
    "description",
]


def stamp(moment: float | None) -> str | None:
    """Return a time as responses show it: UTC, truncated to whole seconds."""
    return None if moment is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def custom_values(tracker: Tracker, kind: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the custom fields of one object, null if they have no value."""
    return [
        {"id": row.id, "name": row.name, "value": values.get(str(row.id))}
        for row in tracker.custom_fields.values()
        if row.kind == kind
    ]


def named(row: Any) -> dict[str, Any]:
    """Return a reference: id and name."""
    return {"id": row.id, "name": row.name}


def issue(tracker: Tracker, row: Issue, *, spent: bool = False) -> dict[str, Any]:
    """Return an issue; `spent` adds the hours logged on it, which the response to its creation lacks."""
    status = tracker.statuses[row.status_id]
    shown: dict[str, Any] = {
        "id": row.id,
        "project": named(tracker.projects[row.project_id]),
        "tracker": named(tracker.issue_types[row.tracker_id]),
        "status": {"id": status.id, "name": status.name, "is_closed": status.is_closed},
        "priority": named(tracker.priorities[row.priority_id]),
        "author": named(tracker.users[row.author_id]),
    }
    if row.assigned_to_id is not None:
        shown["assigned_to"] = named(tracker.users[row.assigned_to_id])
    if row.category_id is not None:
        shown["category"] = named(tracker.categories[row.category_id])
    if row.parent_id is not None:
        shown["parent"] = {"id": row.parent_id}
    shown |= {
        "subject": row.subject,
        "description": row.description,
        "start_date": row.start_date,
        "due_date": row.due_date,
        "done_ratio": 0,
        "is_private": False,
        "estimated_hours": None,
        "total_estimated_hours": None,
    }
    if spent:
        entries = tracker.entries_of_issue.get(row.id, ())
        hours = float(sum(tracker.time_entries[n].hours for n in entries))
        shown |= {"spent_hours": hours, "total_spent_hours": hours}
    shown["custom_fields"] = custom_values(tracker, "issue", row.values)
    return shown | {
        "created_on": stamp(row.created_on),
        "updated_on": stamp(row.updated_on),
        "closed_on": stamp(row.closed_on),
    }


def attachment(tracker: Tracker, row: Attachment, host: str) -> dict[str, Any]:
    """Return a file of an issue."""
    return {
        "id": row.id,
        "filename": row.filename,
        "filesize": row.filesize,
        "content_type": row.content_type,
        "description": row.description,
        "content_url": f"http://{host}/attachments/download/{row.id}/{quote(row.filename)}",
        "author": named(tracker.users[row.author_id]),
        "created_on": stamp(row.created_on),
    }


def time_entry(tracker: Tracker, row: TimeEntry) -> dict[str, Any]:
    """Return a time entry."""
    shown: dict[str, Any] = {
        "id": row.id,
        "project": named(tracker.projects[row.project_id]),
    }
    if row.issue_id is not None:
        shown["issue"] = {"id": row.issue_id}
    return shown | {
        "user": named(tracker.users[row.user_id]),
        "activity": named(tracker.activities[row.activity_id]),
        "hours": fields.listed_hours(row.hours, tracker.release),
        "comments": row.comments,
        "spent_on": row.spent_on,
        "created_on": stamp(row.created_on),
        "updated_on": stamp(row.created_on),
        "custom_fields": custom_values(tracker, "time_entry", row.values),
    }


def project(tracker: Tracker, row: Project, *, homepage: bool = True) -> dict[str, Any]:
    """Return a project; `homepage` is missing in some lists."""
    shown: dict[str, Any] = {
        "id": row.id,
        "name": row.name,
        "identifier": row.identifier,
        "description": row.description,
    }
    if homepage:
        shown["homepage"] = ""
    if row.parent_id is not None:
        shown["parent"] = named(tracker.projects[row.parent_id])
    return shown | {
        "status": row.status,
        "is_public": row.is_public,
        "inherit_members": row.inherit_members,
        "custom_fields": custom_values(tracker, "project", row.values),
        "created_on": stamp(row.created_on),
        "updated_on": stamp(row.updated_on),
    }


def membership(tracker: Tracker, row: Membership) -> dict[str, Any]:
    """Return a membership."""
    return {
        "id": row.id,
        "project": named(tracker.projects[row.project_id]),
        "user": named(tracker.users[row.user_id]),
        "roles": [named(tracker.roles[role_id]) for role_id in row.role_ids if role_id in tracker.roles],
    }


def listed_user(row: User, release: Release) -> dict[str, Any]:
    """Return a user as administrators see them in the list."""
    shown = {
        "id": row.id,
        "login": row.login,
        "admin": row.admin,
        "firstname": row.firstname,
        "lastname": row.lastname,
        "mail": row.mail,
        "created_on": stamp(row.created_on),
        "updated_on": stamp(row.created_on),
        "last_login_on": None,
        "passwd_changed_on": None,
        "twofa_scheme": None,
    }
    return shown | {"status": row.status} if release.filters_users else shown


def user(row: User, *, viewer: User) -> dict[str, Any]:
    """Return a single user: everything for administrators, their own key for themselves, little for others."""
    shown = listed_user(row, Release())
    if viewer.admin:
        return shown | {"api_key": row.api_key, "status": row.status}
    del shown["mail"]
    if viewer.id == row.id:
        return shown | {"api_key": row.api_key}
    del shown["admin"], shown["twofa_scheme"]
    return shown


def enumeration(row: Enumeration) -> dict[str, Any]:
    """Return an issue priority or an activity."""
    return {
        "id": row.id,
        "name": row.name,
        "is_default": row.is_default,
        "active": row.active,
    }


def custom_field(tracker: Tracker, row: CustomField) -> dict[str, Any]:
    """Return a custom-field definition."""
    shown: dict[str, Any] = {
        "id": row.id,
        "name": row.name,
        "customized_type": row.kind,
        "field_format": row.field_format,
        "regexp": "",
        "min_length": None,
        "max_length": None,
        "is_required": row.id in tracker.settings.required_custom_fields,
        "is_filter": row.is_filter,
        "searchable": row.searchable,
        "multiple": False,
        "default_value": None,
        "visible": True,
    }
    if tracker.release.tells_more:
        shown |= {"description": None, "editable": True}
    if row.field_format == "list":
        shown["possible_values"] = [{"value": text, "label": text} for text in row.possible_values]
    if row.kind == "issue":
        shown |= {
            "trackers": [named(t) for t in tracker.issue_types.values()],
            "roles": [],
        }
    return shown
