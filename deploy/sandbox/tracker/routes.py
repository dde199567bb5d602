"""Maps methods and paths to decisions."""

from __future__ import annotations

import re
from collections.abc import Callable

from deploy.sandbox.tracker import attachments, issues, memberships, metadata, projects, reading, time_entries
from deploy.sandbox.tracker.answers import Answer
from deploy.sandbox.tracker.calls import Call

Decision = Callable[[Call], Answer]

_FIXED: dict[str, dict[str, Decision]] = {
    "/issues.json": {"GET": reading.issue_list, "POST": issues.create},
    "/time_entries.json": {"GET": reading.time_entry_list, "POST": time_entries.create},
    "/uploads.json": {"POST": attachments.upload},
    "/projects.json": {"GET": reading.projects, "POST": projects.create},
    "/trackers.json": {"GET": metadata.issue_types},
    "/issue_statuses.json": {"GET": metadata.statuses},
    "/enumerations/issue_priorities.json": {"GET": metadata.priorities},
    "/enumerations/time_entry_activities.json": {"GET": metadata.activities},
    "/roles.json": {"GET": metadata.roles},
    "/users.json": {"GET": metadata.users},
    "/users/current.json": {"GET": metadata.current_user},
    "/custom_fields.json": {"GET": metadata.custom_fields},
}

_PATTERNS: list[tuple[str, dict[str, Decision]]] = [
    (
        r"/issues/(\d+)\.json",
        {
            "GET": reading.issue,
            "PUT": issues.update,
            "PATCH": issues.update,
            "DELETE": issues.delete,
        },
    ),
    (
        r"/projects/([^/]+)/memberships\.json",
        {"GET": reading.members, "POST": memberships.create},
    ),
    (r"/projects/([^/]+)/issue_categories\.json", {"GET": metadata.categories}),
    (r"/projects/([^/]+)/issues\.json", {"POST": issues.create}),
    (r"/projects/([^/]+)/close\.json", {"PUT": projects.close}),
    (r"/projects/([^/]+)/reopen\.json", {"PUT": projects.reopen}),
    (r"/projects/([^/]+)/archive\.json", {"PUT": projects.archive}),
    (r"/projects/([^/]+)/unarchive\.json", {"PUT": projects.unarchive}),
    (
        r"/projects/([^/]+)\.json",
        {"GET": reading.project, "DELETE": projects.delete},
    ),
    (
        r"/time_entries/(\d+)\.json",
        {"GET": reading.time_entry, "PUT": time_entries.update, "DELETE": time_entries.delete},
    ),
    (
        r"/memberships/(\d+)\.json",
        {"PUT": memberships.update, "DELETE": memberships.delete},
    ),
    (r"/attachments/(\d+)\.json", {"GET": attachments.show}),
    (r"/roles/(\d+)\.json", {"GET": metadata.role}),
    (r"/users/(\d+)\.json", {"GET": metadata.user}),
]
_WITH_IDS = [(re.compile(pattern), decisions) for pattern, decisions in _PATTERNS]


def find(method: str, path: str) -> tuple[Decision, tuple[str, ...]] | None:
    """Return the decision for a method and a path, with the values of the path's placeholders; None if unknown."""
    fixed = _FIXED.get(path)
    if fixed is not None:
        decision = fixed.get(method)
        return (decision, ()) if decision else None
    for pattern, decisions in _WITH_IDS:
        matched = pattern.fullmatch(path)
        if matched and method in decisions:
            return decisions[method], matched.groups()
    return None
