"""Every hour worked is logged, or a person is told: whatever is refused, adopted, deleted or fails meanwhile.

A stopped worker is simulated: whatever others do meanwhile runs in the middle of its call.
"""

from __future__ import annotations

from typing import Any

import pytest
import requests
from sqlalchemy.exc import OperationalError

from deploy.sandbox.tracker.control import StandIn
from producer.admin.review.held import decide, rows_on_hold
from shared.notices.kinds import Kind
from shared.notices.notice import written
from shared.store.ledger.ledger import Ledger
from shared.store.ledger.statements import Claim
from shared.store.tables.journal import JournalEvent
from shared.store.tables.ledger import LedgerState
from shared.store.tables.types import clock
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket
from tests.support.ledger import (
    change,
    change_event,
    entries,
    let_leases_run_out,
    ours,
    row,
    stopped,
    until_settled,
)
from worker.ticket.sync import Forwarding


def test_a_refused_status_leaves_the_hour_that_still_waits_alone(bridge: Bridge, stand_in: StandIn) -> None:
    assert bridge.forward(task_event()) == ["done"]
    stand_in.fault("reset_before", method="POST", path="/time_entries.json", count=1)
    stand_in.fault("status_before", method="PUT", path="/issues/6.json", status=403)
    (event_id,) = bridge.receive(task_event(1, of_ticket=ticket(status=5), of_task=task(513)))
    bridge.sync()
    assert bridge.event(event_id).state == "pending", bridge.event(event_id).reason
    stand_in.clear_faults()
    until_settled(bridge)
    assert len(entries(stand_in)) == 2
    assert bridge.event(event_id).state == "done"


def test_a_refused_status_does_not_make_logged_time_a_failure(bridge: Bridge, stand_in: StandIn) -> None:
    assert bridge.forward(task_event()) == ["done"]
    stand_in.fault("status_before", method="PUT", path="/issues/6.json", status=403)
    assert bridge.forward(task_event(1, of_ticket=ticket(status=5), of_task=task(513))) == ["done"]
    assert len(entries(stand_in)) == 2


def test_time_whose_entry_went_to_a_sibling_is_logged_anew(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pass read "adopted, so done"; before it ends the event, the answer to a sibling takes the entry away."""
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    entry_id = entries(stand_in)[0]["id"]
    change(bridge, Kind.TICKET_TASK, 512, adopted=True)
    change_event(bridge, event_id, state="pending", ended_at=None)
    real = Forwarding._end_what_sends_nothing

    async def take_it_away_first(self: Forwarding, plan: Any) -> None:
        if row(bridge, Kind.TICKET_TASK, 512).state == LedgerState.LINKED:
            sibling_is_answered(bridge, entry_id, event_id)
        await real(self, plan)

    with monkeypatch.context() as patched:
        patched.setattr(Forwarding, "_end_what_sends_nothing", take_it_away_first)
        bridge.sync()
    assert row(bridge, Kind.TICKET_TASK, 999).tracker_id == entry_id
    until_settled(bridge)
    assert row(bridge, Kind.TICKET_TASK, 512).state == LedgerState.LINKED, bridge.steps()
    assert len(entries(stand_in)) == 2


def sibling_is_answered(bridge: Bridge, entry_id: int, event_id: int) -> None:
    """Do what `_record` does if ticket task 999's own 201 names an entry that 512 had adopted."""
    body = {"time_entry": {"issue_id": 6, "hours": 1.5, "comments": "x"}}
    with bridge.store.transaction() as tx:
        attempt = tx.times.claim(Claim(999, 4711, event_id, 1, 6, body, [], "other"), 20)
        assert attempt == 1
        assert tx.times.take_from_sibling(999, entry_id) is not None
        tx.times.link(
            999,
            attempt,
            entry_id,
            5,
            written("Redmine's own answer for it arrived, so the adoption is resolved again"),
        )
        tx.journal.reopen(
            JournalEvent.id == event_id, written("the adopted object belongs to another ticket")
        )


def test_a_late_answer_to_a_held_creation_lets_those_go_on_that_were_held_for_it(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    later: list[int] = []

    def meanwhile() -> None:
        let_leases_run_out(bridge)
        fault = stand_in.fault("status_before", method="GET", path="/issues.json", status=404)
        later.extend(bridge.receive(task_event(1, of_task=task(513))))
        for _ in range(16):
            bridge.hurry()
            bridge.service.sync(4711)
        assert row(bridge, Kind.TICKET, 4711).state == LedgerState.ON_HOLD
        assert bridge.event(later[0]).state == "on_hold"
        stand_in.clear_faults(fault)

    bridge.receive(task_event())
    with stopped("POST", "/issues.json", meanwhile):
        bridge.sync()
    assert row(bridge, Kind.TICKET, 4711).state == LedgerState.LINKED
    until_settled(bridge)
    assert bridge.event(later[0]).state == "done", "held, but no row is held any more: nobody can resolve it"
    assert len(entries(stand_in)) == 2


def test_time_is_logged_from_the_newest_done_snapshot_also_while_that_one_waits(
    bridge: Bridge, stand_in: StandIn
) -> None:
    older, newer = bridge.receive(task_event(), task_event(1, of_task=task(actiontime=7200)))
    change_event(bridge, newer, next_attempt_at=clock(600))
    bridge.sync()
    until_settled(bridge)
    assert [entry["hours"] for entry in entries(stand_in)] == [2.0], bridge.event(older).reason


def test_hours_that_went_away_with_a_deleted_issue_come_back_or_are_shown(
    bridge: Bridge, stand_in: StandIn
) -> None:
    """A tracker deletes an issue's time entries with it; a person has the issue created again."""
    assert bridge.forward(task_event()) == ["done"]
    key = {"X-Redmine-API-Key": stand_in.api_key}
    assert requests.delete(f"{stand_in.base_url}/issues/6.json", headers=key, timeout=5).status_code == 204
    assert bridge.forward(task_event(1, of_task=task(513))) == ["on_hold"]
    decide(bridge.store, Kind.TICKET, 4711, None)
    until_settled(bridge)
    assert len(ours(stand_in)) == 1
    shown = {(kind, one.key) for kind, one in rows_on_hold(bridge.store)}
    assert len(entries(stand_in)) == 2 or (Kind.TICKET_TASK, 512) in shown


def test_the_database_failing_at_the_link_does_not_make_a_clear_answer_a_question(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cause is a deadlock (two answers that swap adopted ids lock rows in opposite order) or a short fail-over."""
    bridge.configure(in_doubt_policy="hold")
    hit: list[bool] = []
    real = Ledger.link_claimed

    def link(self: Ledger, *arguments: Any) -> set[tuple[int, int]]:
        if not hit:
            hit.append(True)
            raise OperationalError("UPDATE", {}, Exception("deadlock detected"))
        return real(self, *arguments)

    monkeypatch.setattr(Ledger, "link_claimed", link)
    (event_id,) = bridge.receive(task_event())
    try:
        bridge.sync()
    except OperationalError:
        let_leases_run_out(bridge)
    until_settled(bridge)
    assert bridge.event(event_id).state == "done", bridge.event(event_id).reason


def test_time_that_went_to_a_sibling_and_back_is_logged_from_the_newest_event_that_asks_for_it(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """512's request was lost; 513's worker is stopped, so 512 adopts its entry, with a newer event than it sent."""
    assert bridge.forward(task_event(of_task=task(511, content="first"))) == ["done"]
    stand_in.fault("reset_before", method="POST", path="/time_entries.json", count=1)
    (lost,) = bridge.receive(task_event(1, of_task=task(512, content="same")))
    bridge.sync()
    assert row(bridge, Kind.TICKET_TASK, 512).state == LedgerState.IN_DOUBT
    newer: list[int] = []

    def meanwhile() -> None:
        let_leases_run_out(bridge)
        newer.extend(bridge.receive(task_event(3, of_task=task(512, content="same"))))
        while not row(bridge, Kind.TICKET_TASK, 512).adopted:
            bridge.hurry()
            bridge.service.sync(4711)
        assert row(bridge, Kind.TICKET_TASK, 512).adopted
        assert (bridge.event(lost).state, bridge.event(newer[0]).state) == ("superseded", "done")

    bridge.receive(task_event(2, of_task=task(513, content="same")))
    with stopped("POST", "/time_entries.json", meanwhile):
        bridge.sync()
    until_settled(bridge)
    assert row(bridge, Kind.TICKET_TASK, 512).state == LedgerState.LINKED, bridge.steps()
    assert len(entries(stand_in)) == 3
    assert bridge.event(newer[0]).state == "done"


def test_time_that_went_with_its_issue_is_logged_again_as_it_was_known_last(
    bridge: Bridge, stand_in: StandIn
) -> None:
    """Hours that change after they were logged are not sent; if they have to be logged again, the new ones are."""
    assert bridge.forward(task_event()) == ["done"]
    assert bridge.forward(task_event(1, of_task=task(actiontime=7200))) == ["done"]
    key = {"X-Redmine-API-Key": stand_in.api_key}
    assert requests.delete(f"{stand_in.base_url}/issues/6.json", headers=key, timeout=5).status_code == 204
    assert bridge.forward(task_event(2, of_task=task(513))) == ["on_hold"]
    decide(bridge.store, Kind.TICKET, 4711, None)
    until_settled(bridge)
    assert sorted(entry["hours"] for entry in entries(stand_in)) == [1.5, 2.0]
