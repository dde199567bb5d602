"""An issue whose creation has no clear answer is moved by a person in the tracker before it is looked up."""

from __future__ import annotations

from typing import Any

import requests

from deploy.sandbox.tracker.control import StandIn
from shared.store.configuration.mappings import MappingKind
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket

SUPPORT, ELSEWHERE = 1, 4
OTHER_ENTITY = 9


def ask(stand_in: StandIn, method: str, path: str, body: dict[str, Any]) -> None:
    headers = {"X-Redmine-API-Key": stand_in.api_key}
    requests.request(
        method, stand_in.base_url + path, json=body, headers=headers, timeout=5
    ).raise_for_status()


def move(stand_in: StandIn, issue_id: int, project_id: int) -> None:
    ask(stand_in, "PUT", f"/issues/{issue_id}.json", {"issue": {"project_id": project_id}})


def ours(stand_in: StandIn) -> list[dict[str, Any]]:
    return [one for one in stand_in.state()["issues"] if one["id"] > 5]


def settle(bridge: Bridge, event_id: int, ticket_id: int = 4711) -> str:
    for _ in range(6):
        bridge.hurry()
        bridge.sync(ticket_id)
    return bridge.event(event_id).state


def test_it_is_found_and_not_created_again(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    (issue,) = ours(stand_in)
    move(stand_in, issue["id"], ELSEWHERE)
    assert settle(bridge, event_id) == "done"
    assert [one["id"] for one in ours(stand_in)] == [issue["id"]]
    assert [one["issue_id"] for one in stand_in.state()["time_entries"]] == [issue["id"]]


def test_the_first_of_several_moves_tells_where_it_was_created(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    (issue,) = ours(stand_in)
    for project_id in (2, ELSEWHERE):
        move(stand_in, issue["id"], project_id)
    assert settle(bridge, event_id) == "done"
    assert [one["id"] for one in ours(stand_in)] == [issue["id"]]


def test_an_equal_issue_that_was_created_elsewhere_is_not_taken_for_it(
    bridge: Bridge, stand_in: StandIn
) -> None:
    """Its own creation is in doubt, too, and is resolved later: each ticket keeps its own issue."""
    bridge.link(MappingKind.ENTITY, OTHER_ENTITY, ELSEWHERE)
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    (elsewhere,) = bridge.receive(
        task_event(of_ticket=ticket(8, title="Same", entity_id=OTHER_ENTITY), of_task=task(80))
    )
    bridge.sync(8)
    stand_in.fault("reset_before", method="POST", path="/issues.json", count=1)
    (here,) = bridge.receive(task_event(of_ticket=ticket(7, title="Same"), of_task=task(70)))
    bridge.sync(7)
    (issue,) = ours(stand_in)
    assert settle(bridge, here, 7) == "done"
    assert settle(bridge, elsewhere, 8) == "done"
    assert sorted((one["id"], one["project"]) for one in ours(stand_in)) == [
        (issue["id"], "other"),
        (issue["id"] + 1, "support"),
    ]
