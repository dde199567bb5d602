"""A tracker that is briefly closed or unclear: no other person becomes the author, and nothing fails permanently."""

from __future__ import annotations

import pytest

from deploy.sandbox.tracker.control import StandIn
from tests.drill.people import CAROL
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket, ticket_event
from worker.ticket.impersonation import MEMBERSHIP_TRIES

MEMBERSHIPS = r"/projects/\d+/memberships\.json"


def authors(stand_in: StandIn) -> list[str]:
    return [issue["author"] for issue in stand_in.state()["issues"] if issue["id"] > 5]


def until_settled(bridge: Bridge, rounds: int = 4) -> None:
    for _ in range(rounds):
        bridge.hurry()
        bridge.sync()


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "status_before", "status": 500},
        {"kind": "reset_before"},
        {"kind": "reset_after"},
        {
            "kind": "status_before",
            "status": 403,
            "count": 1,
        },  # a second 403 while the tracker is open counts as its answer
    ],
    ids=str,
)
def test_a_membership_without_a_clear_answer_does_not_make_the_administrator_the_author(
    bridge: Bridge, stand_in: StandIn, fault: dict[str, object]
) -> None:
    stand_in.fault(**{"count": 2, **fault}, method="POST", path=MEMBERSHIPS)  # type: ignore[arg-type]
    bridge.receive(task_event(of_ticket=ticket(technician=CAROL), of_task=task(user=CAROL)))
    until_settled(bridge)
    assert authors(stand_in) == ["carol"]
    assert [entry["author"] for entry in stand_in.state()["time_entries"]] == ["carol"]


def test_a_membership_that_never_gets_a_clear_answer_blocks_nothing_for_good(
    bridge: Bridge, stand_in: StandIn
) -> None:
    stand_in.fault("status_before", method="POST", path=MEMBERSHIPS, status=500)
    (event_id,) = bridge.receive(task_event(of_ticket=ticket(technician=CAROL)))
    until_settled(bridge, MEMBERSHIP_TRIES + 1)
    assert authors(stand_in) == ["admin"]
    assert bridge.event(event_id).state == "done"


@pytest.mark.parametrize("probe", ["answered", "lost"])
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/issues.json"), ("POST", "/time_entries.json"), ("PUT", r"/issues/\d+\.json")],
)
def test_what_is_refused_while_the_tracker_is_closed_for_a_moment_is_done_later(
    bridge: Bridge, stand_in: StandIn, method: str, path: str, probe: str
) -> None:
    stand_in.fault("status_before", method=method, path=path, status=403, count=1)
    if probe == "lost":
        stand_in.fault("reset_before", method="GET", path="/users.json", count=1)
    ids = bridge.receive(
        task_event(of_ticket=ticket(technician=None), of_task=task(user=None)),
        ticket_event(1, of_ticket=ticket(status=5)),
    )
    bridge.sync()
    until_settled(bridge)
    assert [bridge.event(event_id).state for event_id in ids] == ["done", "done"]
    (issue,) = [issue for issue in stand_in.state()["issues"] if issue["id"] > 5]
    assert issue["status_id"] == 3
    assert len(stand_in.state()["time_entries"]) == 1


def test_what_the_administrator_is_refused_twice_has_failed(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.fault("status_before", method="POST", path="/issues.json", status=403)
    (event_id,) = bridge.receive(task_event(of_ticket=ticket(technician=None)))
    bridge.sync()
    assert bridge.event(event_id).state == "failed"
