"""Workers that stop, take over and answer late in the middle of each other's work create each object once.

A stopped worker is simulated: whatever others do meanwhile runs in the middle of its call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from deploy.sandbox.tracker.control import StandIn
from shared.notices.kinds import Kind
from shared.notices.notice import written
from shared.redis.circuit_breaker import CircuitBreaker
from shared.store.ledger.send_window import SendWindow
from shared.store.tables.journal import TicketState
from shared.store.tables.ledger import LedgerState
from shared.store.tables.types import clock
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket, ticket_event
from tests.support.ledger import SAME, change, entries, let_leases_run_out, ours, row, stopped, until_settled


@pytest.mark.parametrize("path", ["/issues.json", "/time_entries.json"])
@pytest.mark.parametrize("policy", ["lookup", "hold"])
def test_a_worker_stopped_between_201_and_commit_while_another_takes_over_makes_one_of_each(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, path: str, policy: str
) -> None:
    bridge.configure(in_doubt_policy=policy)

    def meanwhile() -> None:
        let_leases_run_out(bridge)
        for _ in range(3):
            bridge.hurry()
            bridge.service.sync(4711)

    (event_id,) = bridge.receive(task_event())
    with stopped("POST", path, meanwhile):
        bridge.sync()
    until_settled(bridge)
    assert (len(ours(stand_in)), len(entries(stand_in))) == (1, 1)
    assert bridge.event(event_id).state == "done", bridge.event(event_id).reason


@pytest.mark.parametrize("path", ["/issues.json", "/time_entries.json"])
def test_a_worker_stopped_before_its_call_while_another_does_the_work_sends_nothing(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    hit: list[bool] = []
    real = SendWindow.check

    def check(self: SendWindow) -> None:
        wanted = len(hit) == (0 if path == "/issues.json" else 1)
        hit.append(True)
        if wanted:
            self._ends = 0.0
            let_leases_run_out(bridge)
            for _ in range(3):
                bridge.hurry()
                bridge.service.sync(4711)
        real(self)

    (event_id,) = bridge.receive(task_event())
    with monkeypatch.context() as patched:
        patched.setattr(SendWindow, "check", check)
        bridge.sync()
    until_settled(bridge)
    assert (len(ours(stand_in)), len(entries(stand_in))) == (1, 1)
    assert bridge.event(event_id).state == "done"


def test_a_late_answer_of_a_superseded_attempt_is_shown_with_both_ids(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile() -> None:
        bridge.redis.flushdb()
        change(bridge, Kind.TICKET, 4711, state=LedgerState.FREE)
        bridge.service.sync(4711)

    bridge.receive(task_event())
    with stopped("POST", "/issues.json", meanwhile):
        bridge.sync()
    held = row(bridge, Kind.TICKET, 4711)
    assert (held.state, held.candidates) == (LedgerState.ON_HOLD, [6, 7])


def test_redis_flushed_in_the_middle_of_a_pass_lets_two_passes_do_the_work_once(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile() -> None:
        bridge.redis.flushdb()
        bridge.service.sync(4711)

    bridge.receive(*(task_event(number, of_task=task(number)) for number in range(1, 4)))
    with stopped("POST", "/time_entries.json", meanwhile):
        bridge.sync()
    until_settled(bridge)
    assert (len(ours(stand_in)), len(entries(stand_in))) == (1, 3)


def test_an_outage_in_the_middle_of_a_pass_costs_only_what_was_sent_an_attempt_and_nothing_is_repeated(
    bridge: Bridge, stand_in: StandIn
) -> None:
    stand_in.fault(
        "status_before", method="POST", path="/time_entries.json", status=429, retry_after=0, count=1
    )
    ids = bridge.receive(*(task_event(number, of_task=task(number)) for number in range(1, 4)))
    bridge.sync()
    assert [bridge.event(event_id).attempts for event_id in ids] == [1, 0, 0]
    until_settled(bridge)
    assert (len(ours(stand_in)), len(entries(stand_in))) == (1, 3)


def test_an_answer_whose_id_a_sibling_adopted_gets_it_and_the_sibling_is_made_again(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ticket 1's request was lost; ticket 2's issue exists, but its worker is stopped past its lease before linking."""
    stand_in.fault("reset_before", method="POST", path="/issues.json", count=1)
    bridge.receive(task_event(of_ticket=ticket(1, **SAME), of_task=task(1)))
    bridge.service.sync(1)
    assert row(bridge, Kind.TICKET, 1).state == LedgerState.IN_DOUBT

    def meanwhile() -> None:
        change(bridge, Kind.TICKET, 2, state=LedgerState.IN_DOUBT, settle_after=clock())
        bridge.hurry()
        bridge.service.sync(1)
        assert row(bridge, Kind.TICKET, 1).adopted

    bridge.receive(task_event(1, of_ticket=ticket(2, **SAME), of_task=task(2)))
    with stopped("POST", "/issues.json", meanwhile):
        bridge.sync(2)
    until_settled(bridge, 1, 2)
    assert row(bridge, Kind.TICKET, 2).tracker_id == 6
    assert len(entries(stand_in)) == 2
    # ticket 1's hour was logged on #6 meanwhile; what must not happen is that it never gets an issue
    bridge.forward(task_event(5, of_ticket=ticket(1, **SAME), of_task=task(3)), ticket_id=1)
    until_settled(bridge, 1)
    assert row(bridge, Kind.TICKET, 1).state == LedgerState.LINKED
    assert len(entries(stand_in)) == 3


def test_a_late_answer_whose_id_a_sibling_has_is_no_duplicate_where_the_work_was_done_again(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As above, but ticket 2 was created again while its first worker was stopped: two tickets, two issues."""
    stand_in.fault("reset_before", method="POST", path="/issues.json", count=1)
    bridge.receive(task_event(of_ticket=ticket(1, **SAME), of_task=task(1)))
    bridge.service.sync(1)

    def meanwhile() -> None:
        change(bridge, Kind.TICKET, 2, state=LedgerState.IN_DOUBT, settle_after=clock())
        bridge.hurry()
        bridge.service.sync(1)
        bridge.redis.flushdb()
        bridge.service.sync(2)

    bridge.receive(task_event(1, of_ticket=ticket(2, **SAME), of_task=task(2)))
    with stopped("POST", "/issues.json", meanwhile):
        bridge.sync(2)
    until_settled(bridge, 1, 2)
    assert [row(bridge, Kind.TICKET, key).state for key in (1, 2)] == ["linked", "linked"]
    assert {row(bridge, Kind.TICKET, key).tracker_id for key in (1, 2)} == {6, 7}
    assert (len(ours(stand_in)), len(entries(stand_in))) == (2, 2)


def test_no_pending_event_is_ever_without_a_next_time_or_due_for_ever(
    bridge: Bridge, stand_in: StandIn
) -> None:
    """Whatever the tracker answers to any request, a sync pass ends, and events left pending are due later."""
    for number, (method, path) in enumerate(
        [("POST", "/issues.json"), ("POST", "/time_entries.json"), ("PUT", r"/issues/\d+.json")]
    ):
        for status in (302, 400, 403, 404, 408, 409, 412, 422, 500, 502, 503, 504):
            ticket_id = number * 1000 + status
            stand_in.fault("status_before", method=method, path=path, status=status)
            ids = bridge.receive(
                task_event(of_ticket=ticket(ticket_id), of_task=task(ticket_id)),
                ticket_event(1, of_ticket=ticket(ticket_id, status=5)),
            )
            bridge.service.sync(ticket_id)
            for event_id in ids:
                event = bridge.event(event_id)
                waits = event.next_attempt_at and event.next_attempt_at > datetime.now(UTC)
                assert event.state != "pending" or waits, (method, status, event.event, event.reason)
            stand_in.clear_faults()
            bridge.breaker.end()


def test_a_ticket_state_survives_a_replay_of_everything(bridge: Bridge, stand_in: StandIn) -> None:
    ids = bridge.receive(
        task_event(), ticket_event(1, of_ticket=ticket(status=5)), ticket_event(2, of_ticket=ticket())
    )
    bridge.sync()
    for event_id in ids:
        with bridge.store.transaction() as tx:
            tx.journal.replay([event_id])
        bridge.sync()
    with bridge.store.database.transaction() as session:
        state = session.get(TicketState, 4711)
        assert state is not None
        assert not state.status_due
    assert (len(ours(stand_in)), len(entries(stand_in))) == (1, 1)
    assert ours(stand_in)[0]["status"] in (2, "In Progress")


def test_the_bridge_of_these_tests_works_on_postgresql_too(
    bridge_on_postgresql: Bridge, stand_in: StandIn
) -> None:
    assert bridge_on_postgresql.forward(task_event(), ticket_event(1, of_ticket=ticket(status=5))) == [
        "done",
        "done",
    ]
    assert len(entries(stand_in)) == 1


def test_no_sync_opens_a_transaction_inside_another(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On SQLite the inner one would wait 30 s for the outer one, which waits for it."""
    database, local = bridge.store.database, threading.local()
    real = type(database).transaction

    @contextmanager
    def guarded(self: Any) -> Iterator[Any]:
        assert not getattr(local, "open", False), "a transaction inside another"
        local.open = True
        try:
            with real(self) as session:
                yield session
        finally:
            local.open = False

    monkeypatch.setattr(type(database), "transaction", guarded)
    for number, fault in enumerate(["reset_after", "reset_before", "garbage_after"]):
        for path in ("/issues.json", "/time_entries.json"):
            stand_in.fault(fault, method="POST", path=path, count=1)
        at = number + 1
        bridge.receive(
            task_event(at, of_ticket=ticket(at), of_task=task(at)), ticket_event(at, of_ticket=ticket(at))
        )
        until_settled(bridge, at)
        stand_in.clear_faults()
    assert len(entries(stand_in)) == 3


def test_a_probe_that_meets_a_busy_ticket_lets_another_one_probe(bridge: Bridge, stand_in: StandIn) -> None:
    bridge.receive(task_event())
    bridge.breaker.begin(written("the tracker was away"), 0)
    with bridge.service.locks.hold("ticket:4711"):
        bridge.service.sync(4711)
    assert bridge.breaker.enter().probing


def test_a_probe_that_the_database_fails_lets_another_one_probe(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise OperationalError("SELECT 1", {}, Exception("gone"))

    bridge.breaker.begin(written("the tracker was away"), 0)
    with monkeypatch.context() as patched:
        patched.setattr("worker.ticket.sync.load", lambda *_, **__: fail(None))
        with pytest.raises(OperationalError):
            bridge.service.sync(4711)
    assert bridge.breaker.enter().probing


@pytest.mark.parametrize("off", [-60, 60])
def test_a_worker_whose_clock_is_off_neither_prolongs_nor_shortens_a_pause(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch, off: int
) -> None:
    real = time.time
    with monkeypatch.context() as patched:
        patched.setattr("time.time", lambda: real() + off)
        paused = CircuitBreaker(bridge.redis).begin(written("down"), 50)
    assert 20 < bridge.breaker.left(paused) <= 50
    with monkeypatch.context() as patched:
        patched.setattr("time.time", lambda: real() + off)
        assert CircuitBreaker(bridge.redis).enter().blocked_by is not None
    bridge.breaker.end()
