"""Where a ticket is in the helpdesk: its projects and its entity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Place(NamedTuple):
    """Where a ticket is in the helpdesk; it decides the tracker project.

    Attributes:
        project_ids: the first that is mapped decides.
        entity_id: decides if none is mapped.
    """

    project_ids: tuple[int, ...]
    entity_id: int

    def __str__(self) -> str:
        return f"{','.join(map(str, self.project_ids))}/{self.entity_id}"


def place_of(snapshot: Mapping[str, Any]) -> Place:
    """Return the place that a ticket's snapshot names."""
    projects = (snapshot.get("project_id"), *(snapshot.get("other_project_ids") or ()))
    return Place(tuple(dict.fromkeys(one for one in projects if one)), snapshot.get("entity_id") or 0)
