"""People whose login in the tracker has changed since the last synchronisation, and authors from templates only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from tests.support.bridge import Bridge
from tests.support.events import ALICE, BOB, task, task_event, ticket

NOBODY_KNOWN = {"id": 99, "email": "nobody@example.test"}


def impersonated(stand_in: StandIn) -> list[str]:
    """Return the logins of the impersonated creations, in order."""
    return [one["as"] for one in stand_in.requests() if one["as"] and one["method"] == "POST"]


def author(stand_in: StandIn) -> int:
    return int(stand_in.state()["issues"][-1]["author_id"])


def settle(bridge: Bridge) -> None:
    for _ in range(3):
        bridge.hurry()
        bridge.sync()


def test_who_has_another_login_is_the_author_all_the_same(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.patch("users", 5, login="alice.archer")
    assert bridge.forward(task_event(of_ticket=ticket(technician=ALICE), of_task=task(user=ALICE))) == [
        "done"
    ]
    assert author(stand_in) == 5
    assert stand_in.state()["time_entries"][0]["user_id"] == 5
    assert impersonated(stand_in) == ["alice", "alice.archer", "alice.archer"]


def test_who_is_locked_is_asked_about_once(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.patch("users", 5, status=3)
    event = task_event(of_ticket=ticket(technician=ALICE), of_task=task(user=BOB))
    assert bridge.forward(event) == ["done"]
    assert author(stand_in) == 1
    assert bridge.forward(task_event(1, of_ticket=ticket(4712, technician=ALICE), of_task=task(513, user=BOB)),
                          ticket_id=4712) == ["done"]  # fmt: skip
    assert impersonated(stand_in).count("alice") == 1


def test_while_it_is_not_known_who_has_the_login_nobody_else_becomes_the_author(
    bridge: Bridge, stand_in: StandIn
) -> None:
    stand_in.patch("users", 5, login="alice.archer")
    hidden = stand_in.fault("status_before", method="GET", path="/users.json", status=500)
    event = task_event(of_ticket=ticket(technician=ALICE), of_task=task(user=ALICE))
    assert bridge.forward(event) == ["pending"]
    assert len(stand_in.state()["issues"]) == 5
    stand_in.clear_faults(hidden)
    settle(bridge)
    assert author(stand_in) == 5


@pytest.mark.parametrize("kind", ["reset_after", "status_after"])
def test_an_author_that_only_the_template_names_is_recognised_after_a_lost_answer(
    bridge: Bridge, stand_in: StandIn, kind: str
) -> None:
    with bridge.store.transaction() as tx:
        store: Any = tx.templates
        body = json.dumps({"time_entry": {"user_id": 6}})
        store.activate(store.create("time_entry.create", "for Bob", body, "a test"), 1, "a test")
        tx.people.remember_member(1, 6)
    stand_in.fault(kind, method="POST", path="/time_entries.json", count=1)
    (event_id,) = bridge.receive(task_event(of_task=task(user=NOBODY_KNOWN)))
    bridge.sync()
    settle(bridge)
    (entry,) = stand_in.state()["time_entries"]
    assert entry["user_id"] == 6
    assert bridge.event(event_id).state == "done"
