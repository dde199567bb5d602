"""The scene of the forwarding tests: one ticket and a fresh tracker project."""

from __future__ import annotations

from typing import Any

from tests.contract.support import Json, Tracker
from tests.support.bridge import Bridge
from tests.support.events import ALICE, ticket

ENTITY = 77
CAROL = {"id": 9, "email": "carol@example.test"}
DAVE = {"id": 10, "email": "dave@example.test"}
GHOST = {"id": 11, "email": "ghost@example.test"}
STRANGER = {"id": 12, "email": "nobody@example.test"}


class Scene:
    """One ticket whose entity is mapped to a fresh private project of the tracker.

    Args:
        bridge: the deskbridge under test.
        tracker: the tracker under test.
        project: the fresh project.
    """

    def __init__(self, bridge: Bridge, tracker: Tracker, project: Json) -> None:
        self.bridge, self.tracker, self.project_id = bridge, tracker, int(project["id"])

    def ticket(self, **changes: Any) -> dict[str, Any]:
        """Return a snapshot of the scene's ticket."""
        return ticket(**{"entity_id": ENTITY, "technician": ALICE, **changes})

    def forward(self, *events: dict[str, Any]) -> list[str]:
        """Forward events; return their final states."""
        return self.bridge.forward(*events)

    def issues(self, project_id: int | None = None) -> list[Json]:
        """Return the project's issues on the tracker, oldest first."""
        path = f"/issues.json?project_id={project_id or self.project_id}&status_id=*&sort=id&limit=100"
        found: list[Json] = self.tracker.read(path)["issues"]
        return found

    def issue(self) -> Json:
        """Return the project's only issue."""
        (issue,) = self.issues()
        return issue

    def entries(self) -> list[Json]:
        """Return the time entries of the only issue, oldest first."""
        found: list[Json] = self.tracker.read(f"/time_entries.json?issue_id={self.issue()['id']}")[
            "time_entries"
        ]
        return sorted(found, key=lambda entry: int(entry["id"]))

    def steps(self) -> str:
        """Return the ticket history."""
        return "\n".join(self.bridge.steps())
