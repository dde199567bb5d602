"""The current state of tracker projects: a project's own page distinguishes archived and deleted, the list does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from shared.errors import OutcomeUnknown, TrackerRejected
from shared.tracker.answers import Answer, clean
from shared.tracker.lists import PAGE_SIZE, rows_of
from shared.values.ids import is_id

MODULES, ACTIVITIES, CATEGORIES = "enabled_modules", "time_entry_activities", "issue_categories"
ISSUE_TYPES = "trackers"
INCLUDE = (MODULES, ACTIVITIES, CATEGORIES)
NEEDED_MODULES = ("issue_tracking", "time_tracking")
"""Modules without which a project takes no issues or no time entries."""
PROJECTS = "/projects.json"
ACTIVE, CLOSED, ARCHIVED = 1, 5, 9

Get = Callable[[str, Mapping[str, str | int]], Answer]


class ProjectState(StrEnum):
    """The state of a tracker project; only an active one takes new issues and time entries."""

    ACTIVE = "active"
    CLOSED = "closed"
    ARCHIVED = "archived"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class ProjectNow:
    """A tracker project as it is now; attributes that the answer left out are None.

    Attributes:
        modules: names of the enabled modules.
        activities: id to name of the usable activities.
        categories: id to name.
        issue_types: id to name of the enabled issue types.
    """

    id: int
    state: ProjectState
    name: str | None = None
    modules: frozenset[str] | None = None
    activities: Mapping[int, str] | None = None
    categories: Mapping[int, str] | None = None
    issue_types: Mapping[int, str] | None = None

    @property
    def named(self) -> dict[str, Any]:
        """Its id and name, as parameters of a notice."""
        return {"project_id": self.id, "project_name": self.name}

    def __str__(self) -> str:
        return f"{self.id} ({self.name})" if self.name else str(self.id)


def listed_now(get: Get, ids: Sequence[int], include: Sequence[str]) -> dict[int, ProjectNow]:
    """Read the state of several projects in one call; the result lacks archived and deleted ones.

    Args:
        get: as for `project_now`.
        ids: the projects, at most as many as fit on a page.
        include: the parts of each project to read, from INCLUDE or ISSUE_TYPES.

    Raises:
        TrackerError: if they could not be read.
    """
    wanted: dict[str, str | int] = {
        "id": "|".join(map(str, ids)),
        "status": f"{ACTIVE}|{CLOSED}",
        "include": ",".join(include),
        "limit": PAGE_SIZE,
    }
    rows = rows_of(get(PROJECTS, wanted), "projects", PROJECTS)
    return {row["id"]: _read_row(row["id"], row) for row in rows if row.get("id") in ids}


def project_now(get: Get, project_id: int) -> ProjectNow:
    """Read the state of a project.

    Args:
        get: reads a path with query parameters as the API user, who can read every project that is not archived.
        project_id: the project.

    Raises:
        TrackerError: if it could not be read.
    """
    path = f"/projects/{project_id}.json"
    try:
        row = get(path, {"include": ",".join(INCLUDE)}).object("project")
    except KeyError:
        raise OutcomeUnknown("GET", path) from None
    except TrackerRejected as refused:
        if refused.status not in (403, 404):
            raise
        state = ProjectState.ARCHIVED if refused.status == 403 else ProjectState.ABSENT
        return ProjectNow(project_id, state)
    return _read_row(project_id, row)


def _read_row(project_id: int, row: Mapping[str, Any]) -> ProjectNow:
    """Return a project from its row, which comes from its own page or from a list with the same includes."""
    name, modules = row.get("name"), row.get("enabled_modules")
    names = (
        frozenset(_text(one.get("name")) for one in modules if isinstance(one, dict))
        if isinstance(modules, list)
        else None
    )
    return ProjectNow(
        project_id,
        _state(row.get("status", ACTIVE)),
        clean(name) if isinstance(name, str) else None,
        names,
        _named(row.get("time_entry_activities")),
        _named(row.get(CATEGORIES)),
        _named(row.get(ISSUE_TYPES)),
    )


def _state(status: Any) -> ProjectState:
    known = {ACTIVE: ProjectState.ACTIVE, CLOSED: ProjectState.CLOSED, ARCHIVED: ProjectState.ARCHIVED}
    return known.get(status, ProjectState.ABSENT)  # 10: it is being deleted (6.0, 6.1)


def _named(rows: Any) -> dict[int, str] | None:
    if not isinstance(rows, list):
        return None
    return {
        one["id"]: _text(one.get("name")) for one in rows if isinstance(one, dict) and is_id(one.get("id"))
    }


def _text(value: Any) -> str:
    return clean(value) if isinstance(value, str) else ""
