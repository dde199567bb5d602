"""If a person moves an issue to another tracker project, its hours still have their author."""

from __future__ import annotations

import pytest
import requests

from deploy.sandbox.tracker.control import StandIn
from producer.admin.backfill.backfill import add_links
from producer.admin.review.adoption import projects_of
from producer.admin.review.held import resolve
from producer.admin.services import Services
from shared.notices.kinds import Kind
from shared.store.tables.ledger import LedgerState
from shared.tracker.client import TrackerClient
from tests.support.bridge import Bridge
from tests.support.events import BOB, task, task_event
from tests.support.ledger import change, entries, row, until_settled
from worker.ticket.impersonation import Sender

OTHER = 4


def asked_for_issues(stand_in: StandIn) -> int:
    return len(
        [one for one in stand_in.requests() if (one["method"], one["path"]) == ("GET", "/issues.json")]
    )


def client_of(bridge: Bridge) -> TrackerClient:
    with bridge.store.transaction() as tx:
        return bridge.service.connect(tx)[1]


def test_hours_on_a_moved_issue_are_their_persons_and_the_next_ones_cost_no_question(
    bridge: Bridge, stand_in: StandIn
) -> None:
    assert bridge.forward(task_event()) == ["done"]
    assert asked_for_issues(stand_in) == 0, "no call while all is well"
    stand_in.patch("issues", 6, project_id=OTHER)
    assert bridge.forward(task_event(1, of_task=task(513)), task_event(2, of_task=task(514))) == [
        "done",
        "done",
    ]
    assert [one["user_id"] for one in entries(stand_in)] == [5, 5, 5]
    assert row(bridge, Kind.TICKET, 4711).tracker_project_id == OTHER
    assert asked_for_issues(stand_in) == 1
    assert bridge.forward(task_event(3, of_task=task(515, user=BOB))) == ["done"]
    assert entries(stand_in)[-1]["user_id"] == 6, "whoever comes next is made a member of the right project"
    assert asked_for_issues(stand_in) == 1


def test_who_may_not_become_a_member_leaves_the_right_advice(bridge: Bridge, stand_in: StandIn) -> None:
    assert bridge.forward(task_event()) == ["done"]
    bridge.configure(default_role_id=None)
    stand_in.patch("issues", 6, project_id=OTHER)
    assert bridge.forward(task_event(1, of_task=task(513))) == ["done"]
    assert any(f"a role with this right in Redmine project {OTHER}" in step for step in bridge.steps())


def test_who_became_a_member_right_after_the_refusal_logs_the_hours(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bridge.forward(task_event()) == ["done"]
    stand_in.patch("issues", 6, project_id=OTHER)
    learned = Sender._learn_project

    async def join_meanwhile(sender: Sender, issue_id: int) -> bool | None:
        requests.post(
            f"{stand_in.base_url}/projects/{OTHER}/memberships.json",
            json={"membership": {"user_id": 5, "role_ids": [4]}},
            headers={"X-Redmine-API-Key": stand_in.api_key},
            timeout=5,
        ).raise_for_status()
        return await learned(sender, issue_id)

    monkeypatch.setattr(Sender, "_learn_project", join_meanwhile)
    assert bridge.forward(task_event(1, of_task=task(513))) == ["done"]
    assert [one["user_id"] for one in entries(stand_in)] == [5, 5]


def test_while_the_project_is_not_known_the_administrator_does_not_step_in(
    bridge: Bridge, stand_in: StandIn
) -> None:
    assert bridge.forward(task_event()) == ["done"]
    stand_in.patch("issues", 6, project_id=OTHER)
    hidden = stand_in.fault("status_before", method="GET", path="/issues.json", status=500)
    assert bridge.forward(task_event(1, of_task=task(513))) == ["pending"]
    assert len(entries(stand_in)) == 1
    stand_in.clear_faults(hidden)
    until_settled(bridge)
    assert entries(stand_in)[-1]["user_id"] == 5


def test_an_adopted_issue_belongs_to_the_project_that_was_seen(bridge: Bridge, stand_in: StandIn) -> None:
    assert bridge.forward(task_event()) == ["done"]
    stand_in.patch("issues", 6, project_id=OTHER)
    change(bridge, Kind.TICKET, 4711, state=LedgerState.ON_HOLD)
    assert resolve(Services(bridge.settings, bridge.store), Kind.TICKET, 4711, 6).unchecked is None
    assert row(bridge, Kind.TICKET, 4711).tracker_project_id == OTHER


@pytest.mark.parametrize("reachable", [True, False])
def test_an_imported_issue_without_a_project_is_asked_about(
    bridge: Bridge, stand_in: StandIn, reachable: bool
) -> None:
    client = client_of(bridge)
    lines = ["kind,id,ticket_id,tracker_id,tracker_project_id", "ticket,4711,,1,", "ticket,4712,,2,"]
    add_links(bridge.store, lines, projects_of=lambda ids: projects_of(client, ids) if reachable else {})
    assert row(bridge, Kind.TICKET, 4711).tracker_project_id == (1 if reachable else None)
    assert bridge.forward(task_event()) == ["done"]
    assert entries(stand_in)[-1]["user_id"] == 5
    assert row(bridge, Kind.TICKET, 4711).tracker_project_id == 1
