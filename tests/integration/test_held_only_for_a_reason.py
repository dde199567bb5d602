"""A row is on hold only if a person has to decide something.

A stopped worker is simulated: whatever others do meanwhile runs in the middle of its call.
"""

from __future__ import annotations

from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.notices.kinds import Kind
from shared.notices.notice import written
from shared.store.tables.ledger import LedgerState
from tests.support.bridge import Bridge
from tests.support.events import task_event
from tests.support.ledger import change, row, stopped
from worker.ticket import reconcile


def test_rounds_that_ran_out_do_not_hold_what_was_linked_meanwhile(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    bridge.receive(task_event())
    bridge.sync()
    change(bridge, Kind.TICKET, 4711, rounds=4)
    stand_in.fault("status_before", method="GET", path="/issues.json", status=500, count=1)
    real = reconcile._another_round

    def linked_meanwhile(*about: Any) -> Any:
        with (
            bridge.store.transaction() as tx
        ):  # the creator was stopped and now continues: its 201 had arrived long ago
            assert tx.issues.link(4711, 1, 6, 5, written("created by event 1"))
        return real(*about)

    with monkeypatch.context() as patched:
        patched.setattr(reconcile, "_another_round", linked_meanwhile)
        bridge.hurry()
        bridge.service.sync(4711)
    assert row(bridge, Kind.TICKET, 4711).state == LedgerState.LINKED


def test_a_late_answer_that_names_what_is_linked_already_is_nothing_to_decide(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second attempt was made, found no object of its own, and adopted the one that the first had created."""

    def meanwhile() -> None:
        bridge.redis.flushdb()
        change(bridge, Kind.TICKET, 4711, state=LedgerState.FREE)
        stand_in.fault("reset_before", method="POST", path="/issues.json", count=1)
        bridge.hurry()
        bridge.service.sync(4711)
        bridge.hurry()
        bridge.service.sync(4711)
        linked = row(bridge, Kind.TICKET, 4711)
        assert (linked.state, linked.attempt, linked.tracker_id) == (LedgerState.LINKED, 2, 6)

    bridge.receive(task_event())
    with stopped("POST", "/issues.json", meanwhile):
        bridge.sync()
    assert row(bridge, Kind.TICKET, 4711).state == LedgerState.LINKED, row(bridge, Kind.TICKET, 4711).reason
