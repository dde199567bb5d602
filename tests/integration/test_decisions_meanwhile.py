"""A person decides, or the help desk sends an event, while a sync pass uses data that it loaded earlier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.review.held import decide
from shared.notices.kinds import Kind
from shared.store.tables.ledger import LedgerState
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket, ticket_event
from tests.support.ledger import change, entries, ours, row, stopped, until_settled
from worker.ticket.sync import Forwarding


def after_the_load(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], object]) -> None:
    """Do something once, between what a sync pass loads and what it does."""
    real, hit = Forwarding.carry_out, list[bool]()

    async def carry_out(self: Forwarding) -> Any:
        if not hit:
            hit.append(True)
            meanwhile()
        return await real(self)

    monkeypatch.setattr(Forwarding, "carry_out", carry_out)


@pytest.mark.parametrize(("kind", "key"), [(Kind.TICKET, 4711), (Kind.TICKET_TASK, 512)])
@pytest.mark.parametrize("adopt", [True, False])
def test_an_event_is_not_held_for_what_a_person_decided_meanwhile(
    bridge: Bridge,
    stand_in: StandIn,
    monkeypatch: pytest.MonkeyPatch,
    kind: Kind,
    key: int,
    adopt: bool,
) -> None:
    assert bridge.forward(task_event()) == ["done"]
    tracker_id = row(bridge, kind, key).tracker_id
    change(bridge, kind, key, state=LedgerState.ON_HOLD, tracker_id=None)
    done = task_event(1, of_task=task(513 if kind is Kind.TICKET else 512))
    task_id, update_id = bridge.receive(done, ticket_event(2, of_ticket=ticket(status=5)))
    after_the_load(monkeypatch, lambda: decide(bridge.store, kind, key, tracker_id if adopt else None))
    until_settled(bridge)
    assert {bridge.event(one).state for one in (task_id, update_id)} == {"done"}
    assert len(ours(stand_in)) == (1 if adopt or kind is Kind.TICKET_TASK else 2)


def test_hours_that_change_while_the_issue_is_created_are_logged_as_they_are_then(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer: list[int] = []

    def meanwhile() -> None:
        newer.extend(bridge.receive(task_event(1, of_task=task(actiontime=7200))))

    (older,) = bridge.receive(task_event())
    with stopped("POST", "/issues.json", meanwhile):
        bridge.sync()
    until_settled(bridge)
    assert [one["hours"] for one in entries(stand_in)] == [2.0]
    assert (bridge.event(older).state, bridge.event(newer[0]).state) == ("superseded", "done")


def test_hours_that_are_taken_back_while_the_issue_is_created_are_not_logged(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    bridge.receive(task_event())
    undone = task_event(1, of_task=task(state=1))
    with stopped("POST", "/issues.json", lambda: bridge.receive(undone)):
        bridge.sync()
    until_settled(bridge)
    assert entries(stand_in) == []
