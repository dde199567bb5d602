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


def test_on_a_tracker_that_changes_texts_a_person_decides(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.settings(edits_texts=True)
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    move(stand_in, ours(stand_in)[0]["id"], ELSEWHERE)
    assert settle(bridge, event_id) == "on_hold"
    assert len(ours(stand_in)) == 1


def test_a_person_decides_if_it_was_reworded_too(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    changed = {"project_id": ELSEWHERE, "subject": "Other", "description": "words"}
    ask(stand_in, "PUT", f"/issues/{ours(stand_in)[0]['id']}.json", {"issue": changed})
    assert settle(bridge, event_id) == "on_hold"
    assert len(ours(stand_in)) == 1


def test_what_a_person_created_elsewhere_is_no_reason_to_wait(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.fault("reset_before", method="POST", path="/issues.json", count=1)
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    ask(stand_in, "POST", "/issues.json", {"issue": {"project_id": ELSEWHERE, "subject": "By hand"}})
    assert settle(bridge, event_id) == "done"
    assert len(ours(stand_in)) == 2


def test_the_moved_issue_of_another_ticket_is_no_reason_to_wait(bridge: Bridge, stand_in: StandIn) -> None:
    """Both answers are lost; only one creation had an effect, and its text tells whose."""
    for number, fault in ((7, "reset_after"), (8, "reset_before")):
        stand_in.fault(fault, method="POST", path="/issues.json", count=1)
        bridge.receive(task_event(of_ticket=ticket(number, title=f"Printer {number}"), of_task=task(number)))
        bridge.sync(number)
    move(stand_in, ours(stand_in)[0]["id"], ELSEWHERE)
    for number in (8, 7):
        for _ in range(6):
            bridge.hurry()
            bridge.sync(number)
    assert sorted(one["subject"] for one in ours(stand_in)) == ["Printer 7", "Printer 8"]


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
