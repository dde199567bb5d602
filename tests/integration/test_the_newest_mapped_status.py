"""An unmapped help desk status does not hide the one before it: the newest mapped status is set."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.notices.reasons import Reason
from shared.store.configuration.mappings import MappingKind
from tests.support.bridge import Bridge
from tests.support.events import SUPPORT_ENTITY, task, task_event, ticket, ticket_event

UNMAPPED = 88
RESOLVED, CLOSED = 3, 5  # for help desk statuses 5 and 6
ISSUE = "/issues/6.json"


def update(at: float, status: int) -> dict[str, Any]:
    return ticket_event(at, of_ticket=ticket(status=status))


def status(stand_in: StandIn) -> int:
    (issue,) = (one for one in stand_in.state()["issues"] if one["id"] == 6)
    return int(issue["status_id"])


def puts(stand_in: StandIn) -> int:
    return sum(one["method"] == "PUT" for one in stand_in.requests())


@pytest.fixture(autouse=True)
def _issue(bridge: Bridge) -> None:
    assert bridge.forward(task_event()) == ["done"]


def test_a_mapped_status_is_given_although_one_that_is_not_waits_with_it(
    bridge: Bridge, stand_in: StandIn
) -> None:
    ids = bridge.receive(update(1, 6), update(2, 5), update(3, UNMAPPED))
    bridge.sync()
    assert [bridge.event(one).state for one in ids] == ["superseded", "done", "skipped"]
    assert bridge.event(ids[2]).code == Reason.STATUS_NOT_MAPPED
    assert status(stand_in) == RESOLVED


@pytest.mark.parametrize(
    "fault", [{"kind": "status_before", "status": 429}, {"kind": "status_before", "status": 500}]
)
def test_a_mapped_status_that_waits_is_given_after_one_came_that_is_not(
    bridge: Bridge, stand_in: StandIn, fault: dict[str, Any]
) -> None:
    number = stand_in.fault(method="PUT", path=ISSUE, **fault)
    (first,) = bridge.receive(update(1, 5))
    bridge.sync()
    assert bridge.event(first).state == "pending"
    (second,) = bridge.receive(update(2, UNMAPPED))
    bridge.sync()
    stand_in.clear_faults(number)
    bridge.breaker.end()
    bridge.hurry()
    bridge.sync()
    assert status(stand_in) == RESOLVED
    assert (bridge.event(first).state, bridge.event(second).state) == ("done", "skipped")


def test_a_mapped_status_that_was_refused_is_tried_again_with_an_update_that_is_not_mapped(
    bridge: Bridge, stand_in: StandIn
) -> None:
    number = stand_in.fault("status_before", method="PUT", path=ISSUE, status=422)
    assert bridge.forward(update(1, 5)) == ["failed"]
    stand_in.clear_faults(number)
    assert bridge.forward(update(2, UNMAPPED)) == ["skipped"]
    assert status(stand_in) == RESOLVED


def test_a_mapped_status_that_comes_after_a_newer_one_that_is_not_is_given(
    bridge: Bridge, stand_in: StandIn
) -> None:
    assert bridge.forward(update(9, UNMAPPED)) == ["skipped"]
    assert bridge.forward(update(5, 5)) == ["done"]
    assert status(stand_in) == RESOLVED
    assert bridge.forward(update(3, 6)) == ["superseded"]
    assert status(stand_in) == RESOLVED
    assert bridge.forward(update(7, 6)) == ["done"]
    assert status(stand_in) == CLOSED


def test_what_was_given_is_not_given_again_for_a_status_that_is_not_mapped(
    bridge: Bridge, stand_in: StandIn
) -> None:
    """A person may have set another status in the tracker meanwhile."""
    assert bridge.forward(update(1, 5)) == ["done"]
    stand_in.patch("issues", 6, status_id=4)
    before = puts(stand_in)
    assert bridge.forward(update(2, UNMAPPED), update(3, UNMAPPED)) == ["superseded", "skipped"]
    assert bridge.forward(update(4, UNMAPPED)) == ["skipped"]
    assert (status(stand_in), puts(stand_in)) == (4, before)


def test_a_status_that_is_mapped_at_last_is_given(bridge: Bridge, stand_in: StandIn) -> None:
    bridge.forward(update(1, 5), update(2, UNMAPPED))
    bridge.configure(status_map={2: 2, 5: RESOLVED, UNMAPPED: CLOSED})
    with bridge.store.transaction() as tx:
        owed = tx.statuses.owed({2: 2, 5: RESOLVED, UNMAPPED: CLOSED}, {2: 2, 5: RESOLVED})
        tx.statuses.give(owed)
    bridge.sync()
    assert owed == [4711]
    assert status(stand_in) == CLOSED


def test_an_issue_begins_with_the_newest_status_that_is_mapped(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.settings(new_issue_statuses=True)
    bridge.link(MappingKind.ENTITY, SUPPORT_ENTITY, 1)
    events = [
        ticket_event(1, of_ticket=ticket(9, status=6)),
        ticket_event(2, of_ticket=ticket(9, status=UNMAPPED)),
        task_event(3, of_ticket=ticket(9, status=UNMAPPED), of_task=task(900)),
    ]
    assert bridge.forward(*events, ticket_id=9) == ["done", "superseded", "done"]
    (issue,) = (one for one in stand_in.state()["issues"] if one["subject"] == "Printer 9 on fire")
    assert issue["status_id"] == CLOSED


def test_an_active_template_is_asked_for_a_status_that_is_not_mapped(
    bridge: Bridge, stand_in: StandIn
) -> None:
    with bridge.store.transaction() as tx:
        body = '{"issue": {"status_id": "{{status.mapped_id}}", "notes": "now {{ticket.status}}"}}'
        tx.templates.activate(tx.templates.create("issue.update_status", "own", body, "a test"), 1, "a test")
    assert bridge.forward(update(1, 5), update(2, UNMAPPED)) == ["superseded", "done"]
    assert status(stand_in) == RESOLVED
    stand_in.patch("issues", 6, status_id=4)
    assert bridge.forward(update(3, UNMAPPED)) == ["done"]
    assert status(stand_in) == 4
