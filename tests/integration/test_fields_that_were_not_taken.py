"""Fields that the tracker ignored are due from the link's commit on: no crash and no outage loses them."""

from __future__ import annotations

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.notices.kinds import Kind
from shared.notices.steps import What
from tests.support.bridge import Bridge
from tests.support.events import task_event, ticket
from tests.support.ledger import a_sweep, ours, row, until_settled
from worker.ticket import sync as forward

DEVELOPER = 4


class Killed(BaseException):
    """Simulates the end of the process."""


@pytest.fixture(autouse=True)
def _read_only(stand_in: StandIn) -> None:
    stand_in.patch("roles", DEVELOPER, read_only=["description"])


def description(stand_in: StandIn) -> str:
    (issue,) = ours(stand_in)
    return str(issue["description"] or "")


def notified(bridge: Bridge) -> list[int]:
    bridge.notified.clear()
    a_sweep(bridge).notify_due()
    return list(bridge.notified)


def puts(stand_in: StandIn) -> int:
    return sum(one["method"] == "PUT" for one in stand_in.requests())


def test_a_process_that_dies_after_the_link_leaves_them_due(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dies(*_: object) -> list[str]:
        raise Killed

    (event_id,) = bridge.receive(task_event())
    with monkeypatch.context() as patched:
        patched.setattr(forward, "give_fields", dies)
        with pytest.raises(Killed):
            bridge.sync()
    assert not description(stand_in)
    with bridge.store.transaction() as tx:
        state = tx.statuses.get(4711)
        assert state
        assert state.fields_due == ["description"]
        assert tx.statuses.due_tickets(10) == [4711]
    bridge.sync()
    assert description(stand_in) == "It burns"
    assert bridge.event(event_id).state == "done"
    assert notified(bridge) == []


@pytest.mark.parametrize("fault", ["reset_before", "reset_after", "status_before"])
def test_a_put_without_a_clear_answer_is_made_again(bridge: Bridge, stand_in: StandIn, fault: str) -> None:
    more = {"status": 500} if fault == "status_before" else {}
    stand_in.fault(fault, method="PUT", path="/issues/6.json", count=1, **more)
    bridge.forward(task_event())
    until_settled(bridge)
    assert description(stand_in) == "It burns"
    assert notified(bridge) == []


def test_a_put_that_never_gets_a_clear_answer_is_given_up(bridge: Bridge, stand_in: StandIn) -> None:
    number = stand_in.fault("status_before", method="PUT", path="/issues/6.json", status=500)
    (event_id,) = bridge.receive(task_event())
    for _ in range(20):
        bridge.hurry()
        bridge.sync()
    stand_in.clear_faults(number)
    assert bridge.event(event_id).state == "done"
    with bridge.store.transaction() as tx:
        assert tx.statuses.with_fields_kept(30, 10) == (1, [4711])
    before = puts(stand_in)
    bridge.hurry()
    assert notified(bridge) == []
    assert puts(stand_in) == before


def test_of_an_issue_that_was_found_after_a_lost_answer_they_are_due_as_well(
    bridge: Bridge, stand_in: StandIn
) -> None:
    stand_in.patch("roles", DEVELOPER, read_only=["priority_id"])
    bridge.configure(default_priority_id=3)
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    bridge.receive(task_event())
    bridge.sync()
    until_settled(bridge)
    assert row(bridge, Kind.TICKET, 4711).adopted
    assert [one["priority_id"] for one in ours(stand_in)] == [3]
    assert any("deskbridge set priority_id of issue" in step for step in bridge.steps())


def test_what_was_taken_makes_no_further_call(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.patch("roles", DEVELOPER, read_only=[])
    bridge.configure(status_map={})
    assert bridge.forward(task_event(of_ticket=ticket(content="one\r\ntwo  \n\n  three"))) == ["done"]
    assert puts(stand_in) == 0
    assert What.FIELDS_GIVEN not in "".join(bridge.steps())
