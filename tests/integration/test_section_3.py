"""SPEC section 3, row by row, over the stand-in tracker."""

from __future__ import annotations

from deploy.sandbox.tracker.control import StandIn
from tests.support.bridge import Bridge
from tests.support.events import BOB, task, task_event, ticket, ticket_event


def ours(stand_in: StandIn) -> list[dict]:
    return [issue for issue in stand_in.state()["issues"] if "Printer" in issue["subject"]]


def test_a_done_task_creates_the_issue_and_logs_its_time(bridge: Bridge, stand_in: StandIn) -> None:
    assert bridge.forward(task_event(of_task=task(user=BOB))) == ["done"], bridge.steps()
    (issue,) = ours(stand_in)
    assert issue["subject"] == "Printer 4711 on fire"
    assert issue["description"] == "It burns"
    (entry,) = stand_in.state()["time_entries"]
    print(issue, entry, *bridge.steps(), sep="\n")
    assert entry["hours"] == 1.5
