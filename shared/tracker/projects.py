"""How tracker projects stand now: a project's own page tells archived and deleted apart, the list has neither."""

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
"""Without them no issue is created in a project, or no time is logged."""
PROJECTS = "/projects.json"
ACTIVE, CLOSED, ARCHIVED = 1, 5, 9

Get = Callable[[str, Mapping[str, str | int]], Answer]


class Standing(StrEnum):
    """Whether anything can be created in a tracker project."""

    ACTIVE = "active"
    CLOSED = "closed"
    ARCHIVED = "archived"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class ProjectNow:
    """A tracker project as it is now; what the answer left out is None.

    Attributes:
        modules: names of the enabled ones.
        activities: id to name of those that can be used in it.
        categories: id to name.
        issue_types: id to name of those that are switched on.
    """

    id: int
    standing: Standing
    name: str | None = None
    modules: frozenset[str] | None = None
    activities: Mapping[int, str] | None = None
    categories: Mapping[int, str] | None = None
    issue_types: Mapping[int, str] | None = None

    @property
    def named(self) -> dict[str, Any]:
        """Its id and name, as parameters of a code."""
        return {"project_id": self.id, "project_name": self.name}

    def __str__(self) -> str:
        return f"{self.id} ({self.name})" if self.name else str(self.id)


def listed_now(get: Get, ids: Sequence[int], include: Sequence[str]) -> dict[int, ProjectNow]:
    """Read in one call how several projects stand; archived and deleted ones are not in the answer.

    Args:
        get: as `project_now`.
        ids: the projects, no more than a page has.
        include: of INCLUDE or ISSUE_TYPES, what is wanted of each.

    Raises:
        TrackerError: they could not be read.
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
    """Read how a project stands.

    Args:
        get: reads a path with query parameters as the API user, who can read every project that is not archived.
        project_id: the project.

    Raises:
        TrackerError: it could not be read.
    """
    path = f"/projects/{project_id}.json"
    try:
        row = get(path, {"include": ",".join(INCLUDE)}).object("project")
    except KeyError:
        raise OutcomeUnknown("GET", path) from None
    except TrackerRejected as refused:
        if refused.status not in (403, 404):
            raise
        standing = Standing.ARCHIVED if refused.status == 403 else Standing.ABSENT
        return ProjectNow(project_id, standing)
    return _read_row(project_id, row)


def _read_row(project_id: int, row: Mapping[str, Any]) -> ProjectNow:
    """Return a project from its row, as its own page or a list with the same includes gives it."""
    name, modules = row.get("name"), row.get("enabled_modules")
    names = (
        frozenset(_text(one.get("name")) for one in modules if isinstance(one, dict))
        if isinstance(modules, list)
        else None
    )
    return ProjectNow(
        project_id,
        _standing(row.get("status", ACTIVE)),
        clean(name) if isinstance(name, str) else None,
        names,
        _named(row.get("time_entry_activities")),
        _named(row.get(CATEGORIES)),
        _named(row.get(ISSUE_TYPES)),
    )


def _standing(status: Any) -> Standing:
    known = {ACTIVE: Standing.ACTIVE, CLOSED: Standing.CLOSED, ARCHIVED: Standing.ARCHIVED}
    return known.get(status, Standing.ABSENT)  # 10: it is being deleted (6.0, 6.1)


def _named(rows: Any) -> dict[int, str] | None:
    if not isinstance(rows, list):
        return None
    return {
        one["id"]: _text(one.get("name")) for one in rows if isinstance(one, dict) and is_id(one.get("id"))
    }


def _text(value: Any) -> str:
    return clean(value) if isinstance(value, str) else ""
