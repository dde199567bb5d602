"""How a tracker project stands now: its own page tells closed, archived and deleted apart, the list does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from shared.errors import OutcomeUnknown, TrackerRejected
from shared.ids import is_id
from shared.tracker.answers import Answer, clean

INCLUDE = "enabled_modules,time_entry_activities,issue_categories"
ACTIVE, CLOSED, ARCHIVED = 1, 5, 9


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
    """

    id: int
    standing: Standing
    name: str | None = None
    modules: frozenset[str] | None = None
    activities: Mapping[int, str] | None = None
    categories: Mapping[int, str] | None = None

    def __str__(self) -> str:
        return f"{self.id} ({self.name})" if self.name else str(self.id)


def project_now(get: Callable[[str, Mapping[str, str | int]], Answer], project_id: int) -> ProjectNow:
    """Read how a project stands.

    Args:
        get: reads a path with query parameters as the administrator, whom nothing but archiving keeps out.
        project_id: the project.

    Raises:
        TrackerError: it could not be read.
    """
    path = f"/projects/{project_id}.json"
    try:
        row = get(path, {"include": INCLUDE}).object("project")
    except KeyError:
        raise OutcomeUnknown("GET", path) from None
    except TrackerRejected as refused:
        if refused.status not in (403, 404):
            raise
        standing = Standing.ARCHIVED if refused.status == 403 else Standing.ABSENT
        return ProjectNow(project_id, standing)
    return read_row(project_id, row)


def read_row(project_id: int, row: Mapping[str, Any]) -> ProjectNow:
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
        _named(row.get("issue_categories")),
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
