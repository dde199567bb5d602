"""A created object is found before it would be created again, whatever the clocks and the cache say.

A stopped worker is simulated: whatever others do meanwhile runs in the middle of its call.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.notices.kinds import Kind
from shared.store.configuration.matching import TrackerPerson
from shared.store.tables.ledger import LedgerState
from shared.store.tables.types import clock
from tests.support.bridge import PEOPLE, Bridge
from tests.support.events import task, task_event, ticket
from tests.support.ledger import SAME, change, entries, ours, row, stopped, until_settled
from worker.ticket import reconcile


def test_a_slow_lookup_still_finds_what_was_created(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time between reading the two clocks must not make the object look too old."""
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    bridge.receive(task_event())
    bridge.sync()
    stand_in.fault("delay", method="GET", path="/(users|issues).json", seconds=2.5)
    with monkeypatch.context() as patched:
        patched.setattr(reconcile, "CLOCK_MARGIN", timedelta(seconds=1))
        until_settled(bridge)
    stand_in.clear_faults()
    assert len(ours(stand_in)) == 1


def test_a_tracker_without_a_date_header_and_with_a_slow_clock_is_not_given_a_second_issue(
    bridge: Bridge, stand_in: StandIn
) -> None:
    stand_in.settings(date_header=False, clock_offset=-120)
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    bridge.receive(task_event())
    bridge.sync()
    until_settled(bridge)
    assert len(ours(stand_in)) == 1


def test_an_entry_by_an_administrator_the_cache_does_not_know_is_not_logged_twice(
    bridge: Bridge, stand_in: StandIn
) -> None:
    """The key was given to another administrator since the last metadata synchronisation."""
    assert bridge.forward(task_event()) == ["done"]
    bridge.configure(default_role_id=None)
    with bridge.store.transaction() as tx:
        tx.people.replace_cache([TrackerPerson(2, "old-admin", "Old Admin", None, admin=True), *PEOPLE[1:]])
    stand_in.fault("status_before", method="POST", path="/time_entries.json", status=403, count=1)
    stand_in.fault("reset_after", method="POST", path="/time_entries.json", count=1)
    bridge.receive(task_event(1, of_task=task(513)))
    bridge.sync()
    until_settled(bridge)
    assert len(entries(stand_in)) == 2, "one per ticket task"


def test_every_issue_that_was_created_for_equal_tickets_is_known_to_the_ledger(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ticket 1's request is slow; it adopts ticket 2's issue, which is created again; then ticket 1's 201 arrives."""
    bridge.receive(task_event(of_ticket=ticket(1, **SAME), of_task=task(1)))

    def meanwhile() -> None:
        bridge.redis.flushdb()
        change(bridge, Kind.TICKET, 1, state=LedgerState.IN_DOUBT, settle_after=clock())
        stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
        bridge.receive(task_event(1, of_ticket=ticket(2, **SAME), of_task=task(2)))
        bridge.service.sync(2)
        bridge.hurry()
        bridge.service.sync(2)
        bridge.service.sync(2)
        assert row(bridge, Kind.TICKET, 1).adopted
        assert row(bridge, Kind.TICKET, 2).state == LedgerState.LINKED

    with stopped("POST", "/issues.json", meanwhile, sent=False):
        bridge.sync(1)
    until_settled(bridge, 1, 2)
    rows = [row(bridge, Kind.TICKET, key) for key in (1, 2)]
    known = {one.tracker_id for one in rows} | {found for one in rows for found in one.candidates or ()}
    assert {issue["id"] for issue in ours(stand_in)} <= known, "an issue too many, and nobody is told"
