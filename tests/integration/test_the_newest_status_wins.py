"""The last status is the newest one, even after stopped workers, refusals and replays.

A stopped worker is simulated: whatever others do meanwhile runs in the middle of its call.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket, ticket_event
from tests.support.ledger import (
    CLOSED,
    a_sweep,
    adopt_as_a_sibling,
    let_leases_run_out,
    ours,
    stopped,
    until_settled,
)

NEW = 1


def dated(ahead: timedelta, status: int) -> dict[str, Any]:
    """Return an update of the ticket that happens now by a clock that is ahead."""
    at = (datetime.now(UTC) + ahead).isoformat()
    return {**ticket_event(of_ticket=ticket(status=status)), "occurred_at": at}


@pytest.mark.promise("SEC-58")
@pytest.mark.parametrize("is_sent_at_once", [True, False])
def test_an_event_dated_two_hours_ahead_does_not_win_over_later_ones(
    bridge: Bridge, stand_in: StandIn, is_sent_at_once: bool
) -> None:
    """The clock of GLPI's server was wrong for a moment."""
    assert bridge.forward(task_event()) == ["done"]
    (ahead,) = bridge.receive(dated(timedelta(hours=2), 1))
    if is_sent_at_once:
        bridge.sync()
    (right,) = bridge.receive(dated(timedelta(0), 5))
    until_settled(bridge)
    assert ours(stand_in)[0]["status"] in (3, "Resolved"), bridge.event(right).reason
    assert (bridge.event(ahead).clamped, bridge.event(right).clamped) == (True, False)


def test_a_stopped_worker_that_continues_does_not_leave_an_older_status(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bridge.forward(task_event()) == ["done"]
    bridge.receive(ticket_event(1, of_ticket=ticket(status=5)))

    def meanwhile() -> None:
        let_leases_run_out(bridge)
        bridge.receive(ticket_event(2, of_ticket=ticket(status=6)))
        bridge.service.sync(4711)

    with stopped("PUT", "/issues/6.json", meanwhile, sent=False):
        bridge.sync()
    a_sweep(bridge).notify_due()
    until_settled(bridge)
    assert ours(stand_in)[0]["status"] in (5, "Closed")


def test_a_status_that_was_refused_is_still_owed_when_a_later_task_brings_the_same(
    bridge: Bridge, stand_in: StandIn
) -> None:
    assert bridge.forward(task_event()) == ["done"]
    fault = stand_in.fault("status_before", method="PUT", path="/issues/6.json", status=403)
    (refused,) = bridge.receive(ticket_event(1, of_ticket=ticket(status=5)))
    bridge.sync()
    assert bridge.event(refused).state == "failed"
    stand_in.clear_faults(fault)
    bridge.forward(task_event(2, of_ticket=ticket(status=5), of_task=task(513)))
    with bridge.store.transaction() as tx:
        tx.journal.replay([refused])
    until_settled(bridge)
    assert ours(stand_in)[0]["status"] in (3, "Resolved"), bridge.event(refused).reason


def test_an_update_that_comes_together_with_a_task_is_still_an_update(
    bridge: Bridge, stand_in: StandIn
) -> None:
    """A person changed the issue by hand; the help desk's update corrects it, whatever arrives in the same sync."""
    assert bridge.forward(task_event()) == ["done"]
    stand_in.patch("issues", 6, status_id=4)
    bridge.forward(ticket_event(1), task_event(2, of_task=task(513)))
    assert ours(stand_in)[0]["status"] in (2, "In Progress")


def test_a_replayed_status_has_all_its_attempts_again(bridge: Bridge, stand_in: StandIn) -> None:
    assert bridge.forward(task_event()) == ["done"]
    fault = stand_in.fault("status_before", method="PUT", path="/issues/6.json", status=500)
    (event_id,) = bridge.receive(ticket_event(1, of_ticket=ticket(status=5)))
    until_settled(bridge, rounds=14)
    assert bridge.event(event_id).state == "failed"
    with bridge.store.transaction() as tx:
        tx.journal.replay([event_id])
    bridge.sync()
    assert bridge.event(event_id).state == "pending"
    stand_in.clear_faults(fault)


@pytest.mark.parametrize("by_template", [False, True])
def test_a_status_that_whoever_had_adopted_an_issue_has_given_it_is_corrected(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, by_template: bool
) -> None:
    """This holds even if a template's own choice of status would otherwise have stayed."""

    def adopted() -> None:
        adopt_as_a_sibling(bridge, event_id)
        stand_in.patch("issues", 6, status_id=CLOSED)

    bridge.configure(status_map={2: NEW})
    if by_template:
        with bridge.store.transaction() as tx:
            made = tx.templates.create(
                "issue.create", "own", '{"issue": {"subject": "{{ticket.title}}"}}', "a test"
            )
            tx.templates.activate(made, 1, "a test")
    (event_id,) = bridge.receive(task_event())
    with stopped("POST", "/issues.json", adopted):
        bridge.sync()
    (issue,) = (one for one in stand_in.state()["issues"] if one["id"] == 6)
    assert issue["status_id"] == NEW


def test_an_answer_that_comes_after_its_lease_does_not_tell_the_issue_s_status(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sibling may have adopted the issue, given it another status, and got its own issue since."""

    def adopted_and_given_back() -> None:
        let_leases_run_out(bridge)
        stand_in.patch("issues", 6, status_id=CLOSED)

    bridge.configure(status_map={2: NEW})
    bridge.receive(task_event())
    with stopped("POST", "/issues.json", adopted_and_given_back):
        bridge.sync()
    (issue,) = (one for one in stand_in.state()["issues"] if one["id"] == 6)
    assert issue["status_id"] == NEW
