"""Nothing is written to an issue that has the number of a ticket's issue, but is another one."""

from __future__ import annotations

import time
from typing import Any

import pytest

from shared.notices.kinds import Kind
from shared.store.tables.ledger import LedgerState
from tests.contract.scene import Scene
from tests.contract.support import Json
from tests.support.events import followup_event, task, task_event, ticket_event
from tests.support.ledger import change, row

RESOLVED = 5
DELETED = 999_999
A_SECOND = 1.1
"""Redmine shows times in whole seconds."""


def other_issue(scene: Scene, su: str | None) -> Json:
    """Delete the ticket's issue, and return another one by a person, which has its number for deskbridge.

    A tracker that gives no number twice is one that was not restored; then the ledger's row gets the number.
    """
    assert scene.tracker.call("DELETE", f"/issues/{scene.issue()['id']}.json").status_code == 204
    if su:
        time.sleep(A_SECOND)
    other = scene.tracker.issue(project_id=scene.project_id, subject="Payroll of the board", su=su)
    change(scene.bridge, Kind.TICKET, 4711, tracker_id=other["id"])
    return other


def next_event(scene: Scene, what: str) -> dict[str, Any]:
    if what == "time entry":
        return task_event(1, of_ticket=scene.ticket(), of_task=task(513))
    if what == "note":
        return followup_event(1, of_ticket=scene.ticket())
    return ticket_event(1, of_ticket=scene.ticket(status=RESOLVED))


@pytest.mark.every_version
@pytest.mark.parametrize("su", [None, "alice"], ids=["by another user", "by the same user later"])
@pytest.mark.parametrize("what", ["time entry", "note", "status"])
def test_another_issue_with_the_number_stays_as_it_is(scene: Scene, what: str, su: str | None) -> None:
    scene.bridge.configure(sync_followups="all")
    assert scene.forward(task_event(of_ticket=scene.ticket())) == ["done"]
    other = other_issue(scene, su)
    assert scene.forward(next_event(scene, what)) == ["on_hold"]
    now = scene.tracker.read(f"/issues/{other['id']}.json?include=journals")["issue"]
    assert (now["journals"], now["spent_hours"], now["updated_on"]) == ([], 0.0, other["updated_on"])
    assert row(scene.bridge, Kind.TICKET, 4711).state == LedgerState.GONE
    assert "is now another issue" in scene.steps()


@pytest.mark.every_version
def test_the_issue_of_a_deleted_user_is_still_the_tickets(scene: Scene) -> None:
    """Redmine names another author of the issues of a deleted user."""
    bridge, tracker = scene.bridge, scene.tracker
    assert scene.forward(task_event(of_ticket=scene.ticket())) == ["done"]
    assert tracker.call("GET", f"/users/{DELETED}.json").status_code == 404
    change(bridge, Kind.TICKET, 4711, author_id=DELETED)
    assert scene.forward(task_event(1, of_ticket=scene.ticket(), of_task=task(513))) == ["done"]
    assert len(scene.entries()) == 2
    assert row(bridge, Kind.TICKET, 4711).author_id == DELETED, "the doctor counts what lost its author"
