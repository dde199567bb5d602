"""No event, answer or fault keeps a ticket, or other tickets, waiting for ever."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update

from deploy.sandbox.tracker.control import StandIn
from producer.admin.backfill.replay import MOST_NAMED, replay_events
from shared.errors import InvalidEvent, TrackerBusy
from shared.events.delivery import parse_delivery
from shared.events.payloads import issue_body
from shared.notices.faults import Fault
from shared.notices.kinds import Kind
from shared.notices.notice import written
from shared.notices.steps import What, Which
from shared.store.tables.journal import JournalEvent
from shared.store.tables.ledger import LedgerState
from shared.tracker.answers import read_answer
from tests.support.bridge import Bridge
from tests.support.events import delivery_id, task, task_event, ticket, ticket_event
from tests.support.ledger import a_sweep, entries, ours, row, until_settled
from worker.ticket import requests as wanted


@pytest.mark.parametrize("where", ["technician", "user"])
def test_an_e_mail_with_u_0000_in_it_does_not_stop_its_ticket_on_postgresql(
    bridge_on_postgresql: Bridge, stand_in: StandIn, where: str
) -> None:
    odd = {"id": 70, "email": "a\x00b@example.test"}
    event = task_event(
        of_ticket=ticket(technician=odd) if where == "technician" else ticket(),
        of_task=task(user=odd) if where == "user" else task(),
    )
    assert bridge_on_postgresql.forward(event) == ["done"]
    assert len(entries(stand_in)) == 1


def test_an_unclear_answer_to_a_probe_is_no_crash_and_uses_up_an_attempt(
    bridge: Bridge, stand_in: StandIn
) -> None:
    """422 for the time entry, and then 500 for the query whether the issue still exists."""
    assert bridge.forward(task_event()) == ["done"]
    bridge.configure(default_activity_id=10)
    stand_in.fault("status_before", method="PUT", path="/issues/6.json", status=500)
    first, second = bridge.receive(task_event(1, of_task=task(513)), task_event(2, of_task=task(514)))
    bridge.sync()
    for event_id in (first, second):
        event = bridge.event(event_id)
        assert event.state == "failed" or (event.attempts and event.next_attempt_at), event.reason


def test_an_unclear_answer_while_asking_for_a_gone_issue_lets_the_status_wait(
    bridge: Bridge, stand_in: StandIn
) -> None:
    assert bridge.forward(task_event()) == ["done"]
    stand_in.fault("status_before", method="PUT", path="/issues/6.json", status=404, count=1)
    stand_in.fault("status_before", method="PUT", path="/issues/6.json", status=500)
    (event_id,) = bridge.receive(ticket_event(1, of_ticket=ticket(status=5)))
    bridge.sync()
    assert bridge.event(event_id).next_attempt_at is not None or bridge.event(event_id).state == "failed"
    stand_in.clear_faults()
    until_settled(bridge)
    assert ours(stand_in)[0]["status"] in (3, "Resolved")


def test_a_clear_refusal_stays_clear_where_the_question_about_the_key_has_no_answer(
    bridge: Bridge, stand_in: StandIn
) -> None:
    bridge.configure(in_doubt_policy="hold")
    assert bridge.forward(task_event()) == ["done"]
    stand_in.fault("status_before", method="POST", path="/time_entries.json", status=403)
    stand_in.fault("status_before", method="GET", path="/users.json", status=500)
    bridge.forward(task_event(1, of_task=task(513, user=None)))
    assert row(bridge, Kind.TICKET_TASK, 513).state == LedgerState.FREE, (
        "nothing was created: the tracker said so"
    )


def test_a_fault_of_ours_fails_the_event_in_the_end(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    """For any unforeseen exception: a limited number of attempts with delays, then `failed`, which can be replayed."""

    def stumble(*_: object) -> None:
        raise ValueError("nobody thought of this")

    monkeypatch.setattr(wanted, "issue_body", stumble)
    (event_id,) = bridge.receive(task_event())
    for _ in range(15):
        bridge.hurry()
        try:
            bridge.sync()
        except ValueError:
            continue
    assert bridge.event(event_id).state == "failed"


def test_one_ticket_that_the_tracker_always_sends_away_does_not_block_the_others(
    bridge: Bridge, stand_in: StandIn
) -> None:
    """503 with Retry-After for one issue only: after each pause the sweep may pick the same ticket to probe again."""
    assert bridge.forward(task_event()) == ["done"]
    stand_in.fault("status_before", method="PUT", path="/issues/6.json", status=503, retry_after=0)
    bridge.receive(ticket_event(1, of_ticket=ticket(status=5)))
    (other,) = bridge.receive(task_event(of_ticket=ticket(2), of_task=task(2)))
    bridge.age(60)
    bridge.sync()
    assert bridge.breaker.current() is not None
    for _ in range(60):  # the ticket that probes is chosen at random
        if bridge.event(other).state == "done":
            break
        a_sweep(bridge).notify_due()
        notified, bridge.notified = bridge.notified, []
        for ticket_id in notified:
            bridge.service.sync(ticket_id)
    assert bridge.event(other).state == "done"


def test_a_worker_that_dies_of_a_fault_while_probing_does_not_keep_the_pause_alive(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest ticket raises the error, and the sweep picks it for every probe."""
    (bad,) = bridge.receive(task_event(of_ticket=ticket(1), of_task=task(1)))
    (good,) = bridge.receive(task_event(of_ticket=ticket(2), of_task=task(2)))
    bridge.age(60)
    real = issue_body

    def stumble(its_ticket: Any, *others: Any) -> Any:
        if its_ticket.id == 1:
            raise ValueError("nobody thought of this")
        return real(its_ticket, *others)

    monkeypatch.setattr(wanted, "issue_body", stumble)
    bridge.breaker.begin(written("the tracker was away"), 0)
    for _ in range(6):
        bridge.redis.delete(f"{bridge.breaker.key}:probe")  # as if its 30 s were over
        a_sweep(bridge).notify_due()
        notified, bridge.notified = bridge.notified, []
        for ticket_id in notified:
            try:
                bridge.service.sync(ticket_id)
            except ValueError:
                continue
    assert bridge.event(good).state == "done", bridge.event(bad).reason


@pytest.mark.parametrize("value", ["Fri, 31 Dec 9999 23:59:59 GMT", "²", "Fri, 31 Dec 9999 23:59:59 -2359"])
def test_no_retry_after_pauses_for_ever_or_crashes(value: str) -> None:
    with pytest.raises(TrackerBusy) as busy:
        read_answer("GET", "/x", status=429, headers={"Retry-After": value}, body=b"", impersonating=False)
    assert (busy.value.retry_after or 0) <= 86400


def test_no_date_header_makes_an_answer_unreadable() -> None:
    headers = {"Date": "Fri, 31 Dec 9999 23:59:59 -2359"}
    answer = read_answer("POST", "/x", status=201, headers=headers, body=b"{}", impersonating=False)
    assert answer.at is None


def test_the_sweep_sees_events_of_a_producer_whose_clock_runs_ahead(bridge: Bridge) -> None:
    delivery = parse_delivery(task_event(), delivery_id())
    with bridge.store.transaction() as tx:
        tx.journal.append([delivery], datetime.now(UTC) + timedelta(hours=1))
    time.sleep(3.2)
    assert a_sweep(bridge).notify_due() == 1


def test_an_event_nested_too_deeply_is_refused_and_no_crash() -> None:
    """Otherwise some depth would pass the producer but not the worker, whose stack is deeper."""
    deep: Any = 1
    for _ in range(600):
        deep = [deep]
    with pytest.raises(InvalidEvent):
        parse_delivery({**task_event(), "extra": deep}, delivery_id())


def test_whoever_probes_and_has_nothing_to_send_asks_the_tracker_all_the_same(
    bridge: Bridge, stand_in: StandIn
) -> None:
    """A replay of everything may make thousands of them due, and the sweep lets in one at a time."""
    bridge.forward(task_event())
    bridge.breaker.begin(Fault.TRACKER_BUSY(method="GET", path="/users.json", status=429), 0)
    replay_events(bridge.store, [1])
    bridge.service.sync(4711)
    assert bridge.event(1).state == "done"
    assert bridge.breaker.current() is None


def test_whoever_probes_with_nothing_to_send_learns_that_the_pause_is_to_go_on(
    bridge: Bridge, stand_in: StandIn
) -> None:
    bridge.forward(task_event())
    stand_in.fault("status_before", method="GET", path="/users.json", status=429)
    bridge.breaker.begin(Fault.TRACKER_BUSY(method="GET", path="/users.json", status=429), 0)
    replay_events(bridge.store, [1])
    bridge.service.sync(4711)
    paused = bridge.breaker.current()
    assert paused is not None
    assert bridge.breaker.left(paused) > 0


def test_the_trace_of_a_replayed_ticket_names_no_more_events_than_can_be_read(bridge: Bridge) -> None:
    for number in range(MOST_NAMED + 2):
        bridge.receive(ticket_event(number))
    replay_events(bridge.store, range(1, MOST_NAMED + 3))
    with bridge.store.transaction() as tx:
        (step,) = [one for one in tx.trace.of_ticket(4711) if one.notice.code == What.PERSON_REPLAYS]
    first = list(range(1, MOST_NAMED + 1))
    assert step.notice.params["which"] == Which.EVENTS_NAMED(events=first, more=2)


def test_the_trace_of_each_replayed_ticket_names_its_own_events(bridge: Bridge) -> None:
    """This holds however many others were replayed with it; the audit log names the first of all of them."""
    for ticket_id in range(1, MOST_NAMED + 3):
        bridge.receive(ticket_event(5, of_ticket=ticket(ticket_id)))
    with bridge.store.database.transaction() as session:
        every = list(session.scalars(update(JournalEvent).values(state="failed").returning(JournalEvent.id)))
    replay_events(bridge.store, every)
    with bridge.store.transaction() as tx:
        for ticket_id in range(1, MOST_NAMED + 3):
            own = tx.journal.find(ticket_id=ticket_id, limit=None)
            (step,) = [one for one in tx.trace.of_ticket(ticket_id) if one.notice.code == What.PERSON_REPLAYS]
            assert step.notice.params["which"] == Which.EVENTS_NAMED(events=[one.id for one in own])
