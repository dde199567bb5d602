"""After a link is forgotten, the next event creates a new object and never adopts the old one."""

from __future__ import annotations

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.review.forgotten_links import forget_link
from shared.notices.kinds import Kind
from shared.store.tables.ledger import LedgerState
from tests.integration.test_in_doubt import LOST_BEFORE, lose, ours, row, until_settled
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket


def test_a_forgotten_task_logs_its_time_again_on_the_same_issue(bridge: Bridge, stand_in: StandIn) -> None:
    assert bridge.forward(task_event(1)) == ["done"]
    forget_link(bridge.store, Kind.TICKET_TASK, 512)
    assert bridge.forward(task_event(2, of_task=task(actiontime=10_800))) == ["done"]
    assert [one["hours"] for one in stand_in.state()["time_entries"]] == [1.5, 3.0]
    assert len(ours(stand_in)) == 1


def test_a_forgotten_ticket_gets_another_issue_and_its_old_one_stays(
    bridge: Bridge, stand_in: StandIn
) -> None:
    assert bridge.forward(task_event(1)) == ["done"]
    (old,) = ours(stand_in)
    forget_link(bridge.store, Kind.TICKET, 4711)
    assert bridge.forward(task_event(2, of_task=task(513))) == ["done"]
    first, second = ours(stand_in)
    assert first["id"] == old["id"]
    assert row(bridge, Kind.TICKET, 4711).tracker_id == second["id"]
    on = {one["issue_id"] for one in stand_in.state()["time_entries"]}
    assert on == {first["id"], second["id"]}


def test_an_update_of_a_forgotten_ticket_sends_nothing(bridge: Bridge, stand_in: StandIn) -> None:
    assert bridge.forward(task_event(1)) == ["done"]
    forget_link(bridge.store, Kind.TICKET, 4711)
    bridge.forward(task_event(2, of_ticket=ticket(status=5), of_task=task(513, state=1)))
    assert len(ours(stand_in)) == 1


@pytest.mark.parametrize("fault", LOST_BEFORE)
@pytest.mark.parametrize(
    ("kind", "key", "path"),
    [(Kind.TICKET, 4711, "/issues.json"), (Kind.TICKET_TASK, 512, "/time_entries.json")],
)
def test_a_lookup_after_a_lost_answer_does_not_take_what_was_forgotten(
    bridge: Bridge, stand_in: StandIn, fault: str, kind: Kind, key: int, path: str
) -> None:
    assert bridge.forward(task_event(1)) == ["done"]
    old = row(bridge, kind, key).tracker_id
    forget_link(bridge.store, Kind.TICKET_TASK, 512)
    if kind is Kind.TICKET:
        forget_link(bridge.store, kind, key)
    lose(stand_in, fault, path)
    bridge.forward(task_event(2))
    until_settled(bridge)
    now = row(bridge, kind, key)
    assert now.state == LedgerState.LINKED
    assert now.tracker_id != old
    assert len(ours(stand_in)) == (2 if kind is Kind.TICKET else 1)
