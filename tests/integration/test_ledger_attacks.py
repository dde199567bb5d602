"""Attacks on the ledger and the drain: interleavings in which an hour could be lost, doubled, or stuck (DESIGN).

A stopped worker is played by running what everybody else does meanwhile in the middle of its call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import requests
from sqlalchemy import update
from sqlalchemy.exc import OperationalError

from deploy.sandbox.tracker.control import StandIn
from producer.admin.held import held_rows, resolve
from shared.codes.coded import written
from shared.coordination.pause import Pause
from shared.errors import InvalidEvent, TrackerBusy
from shared.events import parse_delivery
from shared.kinds import Kind
from shared.payloads import issue_body
from shared.send_window import SendWindow
from shared.store.ledger import Claim, Ledger, Row
from shared.store.models import JournalEvent, LedgerState, TaskTimeLink, TicketIssueLink, TicketState
from shared.store.people import TrackerPerson
from shared.store.types import clock
from shared.tracker.answers import read_answer
from shared.tracker.client import TrackerClient
from tests.support.bridge import PEOPLE, Bridge
from tests.support.events import delivery_id, task, task_event, ticket, ticket_event
from worker.sweep import Sweep
from worker.sync import issue as issue_step
from worker.sync import reconcile
from worker.sync.ticket import Drain

MODELS = {Kind.TICKET: TicketIssueLink, Kind.TICKET_TASK: TaskTimeLink}
SAME = {"title": "Printer on fire", "content": "burns"}


def ours(stand_in: StandIn) -> list[dict[str, Any]]:
    return [issue for issue in stand_in.state()["issues"] if issue["id"] > 5]


def entries(stand_in: StandIn) -> list[dict[str, Any]]:
    return stand_in.state()["time_entries"]


def row(bridge: Bridge, kind: Kind, key: int) -> Row:
    with bridge.store.transaction() as tx:
        found = tx.ledger(kind).get(key)
    assert found is not None
    return found


def change(bridge: Bridge, kind: Kind, key: int, **values: Any) -> None:
    with bridge.store.database.transaction() as session:
        session.execute(update(MODELS[kind]).where(MODELS[kind].key == key).values(**values))


def change_event(bridge: Bridge, event_id: int, **values: Any) -> None:
    with bridge.store.database.transaction() as session:
        session.execute(update(JournalEvent).where(JournalEvent.id == event_id).values(**values))


def until_settled(bridge: Bridge, *ticket_ids: int, rounds: int = 4) -> None:
    for _ in range(rounds):
        bridge.hurry()
        for ticket_id in ticket_ids or (4711,):
            bridge.sync(ticket_id)


def let_leases_run_out(bridge: Bridge) -> None:
    """Everything that a worker stopped for minutes held is over: its ticket's lock and its claims."""
    bridge.redis.flushdb()
    with bridge.store.database.transaction() as session:
        for model in MODELS.values():
            session.execute(
                update(model).where(model.state == LedgerState.CLAIMED).values(lease_until=clock(-120))
            )


@contextmanager
def stopped(
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    path: str,
    meanwhile: Callable[[], None],
    *,
    sent: bool = True,
) -> Iterator[None]:
    """Stop the first worker that makes this call, after the tracker carried it out (or, not sent, before)."""
    hit: list[bool] = []
    real = TrackerClient.call

    def call(self: TrackerClient, its_method: str, its_path: str, **arguments: Any) -> Any:
        first = (its_method, its_path) == (method, path) and not hit
        if first:
            hit.append(True)
        if first and not sent:
            meanwhile()
            arguments.pop("before_send", None)
        answer = real(self, its_method, its_path, **arguments)
        if first and sent:
            meanwhile()
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(TrackerClient, "call", call)
        yield
    assert hit, "the call was never made"


def a_sweep(bridge: Bridge) -> Sweep:
    def ring(tickets: list[int]) -> bool:
        bridge.rung += tickets
        return True

    return Sweep(bridge.store, bridge.settings, bridge.redis, bridge.pause, lambda: 0, ring)


# --- an hour is lost ---------------------------------------------------------------------------------------------


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
    """A drain read "adopted, so done"; before it ends the event, the sibling's own answer takes the entry away."""
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    entry_id = entries(stand_in)[0]["id"]
    change(bridge, Kind.TICKET_TASK, 512, adopted=True)
    change_event(bridge, event_id, state="pending", ended_at=None)
    real = Drain._end_what_sends_nothing

    def take_it_away_first(self: Drain, plan: Any) -> None:
        if row(bridge, Kind.TICKET_TASK, 512).state == LedgerState.LINKED:
            sibling_is_answered(bridge, entry_id, event_id)
        real(self, plan)

    with monkeypatch.context() as patched:
        patched.setattr(Drain, "_end_what_sends_nothing", take_it_away_first)
        bridge.sync()
    assert row(bridge, Kind.TICKET_TASK, 999).tracker_id == entry_id
    until_settled(bridge)
    assert row(bridge, Kind.TICKET_TASK, 512).state == LedgerState.LINKED, bridge.steps()
    assert len(entries(stand_in)) == 2


def sibling_is_answered(bridge: Bridge, entry_id: int, event_id: int) -> None:
    """What `_record` does when ticket task 999's own 201 names an entry that 512 had adopted."""
    body = {"time_entry": {"issue_id": 6, "hours": 1.5, "comments": "x"}}
    with bridge.store.transaction() as tx:
        attempt = tx.times.claim(Claim(999, 4711, event_id, 1, 6, body, [], "other"), 20)
        assert attempt == 1
        assert tx.times.take_from_sibling(999, entry_id) is not None
        tx.times.link(999, attempt, entry_id, 5, written("its own answer"))
        tx.journal.reopen(JournalEvent.id == event_id, written("what was adopted belongs to another"))


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
        assert row(bridge, Kind.TICKET, 4711).state == LedgerState.HELD
        assert bridge.event(later[0]).state == "held"
        stand_in.clear_faults(fault)

    bridge.receive(task_event())
    with stopped(monkeypatch, "POST", "/issues.json", meanwhile):
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
    assert bridge.forward(task_event(1, of_task=task(513))) == ["held"]
    resolve(bridge.store, Kind.TICKET, 4711, None)
    until_settled(bridge)
    assert len(ours(stand_in)) == 1
    shown = {(kind, one.key) for kind, one in held_rows(bridge.store)}
    assert len(entries(stand_in)) == 2 or (Kind.TICKET_TASK, 512) in shown


def test_the_database_failing_at_the_link_does_not_make_a_clear_answer_a_question(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deadlock (two answers that swap adopted ids lock two rows in opposite order) or a short fail-over."""
    bridge.configure(in_doubt_policy="hold")
    hit: list[bool] = []
    real = Ledger.link

    def link(self: Ledger, *arguments: Any) -> bool:
        if not hit:
            hit.append(True)
            raise OperationalError("UPDATE", {}, Exception("deadlock detected"))
        return real(self, *arguments)

    monkeypatch.setattr(Ledger, "link", link)
    (event_id,) = bridge.receive(task_event())
    try:
        bridge.sync()
    except OperationalError:
        let_leases_run_out(bridge)
    until_settled(bridge)
    assert bridge.event(event_id).state == "done", bridge.event(event_id).reason


# --- something is created twice ----------------------------------------------------------------------------------


def test_a_slow_lookup_still_finds_what_was_created(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What passes between the two clocks' readings must not make the object look too old."""
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
    """The key went to another administrator since the last metadata synchronisation."""
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
    """Ticket 1's request is slow; ticket 1 adopts the issue of ticket 2, which is made again; then 1's 201 comes."""
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

    with stopped(monkeypatch, "POST", "/issues.json", meanwhile, sent=False):
        bridge.sync(1)
    until_settled(bridge, 1, 2)
    rows = [row(bridge, Kind.TICKET, key) for key in (1, 2)]
    known = {one.tracker_id for one in rows} | {found for one in rows for found in one.candidates or ()}
    assert {issue["id"] for issue in ours(stand_in)} <= known, "an issue too many, and nobody is told"


# --- stuck for ever, or spinning ---------------------------------------------------------------------------------


@pytest.fixture
def bridge_on_postgresql(stand_in: StandIn, redis_url: str, postgres_url: str) -> Iterator[Bridge]:
    made = Bridge(postgres_url, redis_url, stand_in.base_url, stand_in.api_key)
    yield made
    made.close()


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
    """422 for the time entry, and then 500 for the question whether the issue still exists."""
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
    """Any exception nobody thought of: bounded attempts with pauses between them, then `failed`, replayable."""

    def stumble(*_: object) -> None:
        raise ValueError("nobody thought of this")

    monkeypatch.setattr(issue_step, "issue_body", stumble)
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
    """503 with Retry-After for one issue only: after each pause the sweep lets the same ticket probe again."""
    assert bridge.forward(task_event()) == ["done"]
    stand_in.fault("status_before", method="PUT", path="/issues/6.json", status=503, retry_after=0)
    bridge.receive(ticket_event(1, of_ticket=ticket(status=5)))
    (other,) = bridge.receive(task_event(of_ticket=ticket(2), of_task=task(2)))
    with bridge.store.database.transaction() as session:
        session.execute(update(JournalEvent).values(received_at=clock(-60)))
    bridge.sync()
    assert bridge.pause.current() is not None
    for _ in range(6):
        a_sweep(bridge).ring_due()
        rung, bridge.rung = bridge.rung, []
        for ticket_id in rung:
            bridge.service.sync(ticket_id)
    assert bridge.event(other).state == "done"


def test_a_worker_that_dies_of_a_fault_while_probing_does_not_keep_the_pause_alive(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest ticket stumbles; it is the one that the sweep picks for every probe."""
    (bad,) = bridge.receive(task_event(of_ticket=ticket(1), of_task=task(1)))
    (good,) = bridge.receive(task_event(of_ticket=ticket(2), of_task=task(2)))
    with bridge.store.database.transaction() as session:
        session.execute(update(JournalEvent).values(received_at=clock(-60)))
    real = issue_body

    def stumble(its_ticket: Any, *others: Any) -> Any:
        if its_ticket.id == 1:
            raise ValueError("nobody thought of this")
        return real(its_ticket, *others)

    monkeypatch.setattr(issue_step, "issue_body", stumble)
    bridge.pause.begin(written("the tracker was away"), 0)
    for _ in range(6):
        bridge.redis.delete("deskbridge:pause:probe")  # as if its 30 s were over
        a_sweep(bridge).ring_due()
        rung, bridge.rung = bridge.rung, []
        for ticket_id in rung:
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
    assert a_sweep(bridge).ring_due() == 1


def test_an_event_nested_too_deeply_is_refused_and_no_crash() -> None:
    """Else some depth passes the producer and not the worker, whose stack is deeper."""
    deep: Any = 1
    for _ in range(600):
        deep = [deep]
    with pytest.raises(InvalidEvent):
        parse_delivery({**task_event(), "extra": deep}, delivery_id())


# --- held without need -------------------------------------------------------------------------------------------


def test_rounds_that_ran_out_do_not_hold_what_was_linked_meanwhile(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    bridge.receive(task_event())
    bridge.sync()
    change(bridge, Kind.TICKET, 4711, rounds=4)
    stand_in.fault("status_before", method="GET", path="/issues.json", status=500, count=1)
    real = reconcile._another_round

    def linked_meanwhile(run: Any, kind: Kind, alike: Any, failure: Any) -> None:
        with (
            bridge.store.transaction() as tx
        ):  # the creator was stopped and continues: its 201 was there all along
            assert tx.issues.link(4711, 1, 6, 5, written("created by event 1"))
        real(run, kind, alike, failure)

    with monkeypatch.context() as patched:
        patched.setattr(reconcile, "_another_round", linked_meanwhile)
        bridge.hurry()
        bridge.service.sync(4711)
    assert row(bridge, Kind.TICKET, 4711).state == LedgerState.LINKED


def test_a_late_answer_that_names_what_is_linked_already_is_nothing_to_decide(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second attempt was made, found nothing of its own, and adopted what the first one had created."""

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
    with stopped(monkeypatch, "POST", "/issues.json", meanwhile):
        bridge.sync()
    assert row(bridge, Kind.TICKET, 4711).state == LedgerState.LINKED, row(bridge, Kind.TICKET, 4711).reason


# --- the wrong status for ever -----------------------------------------------------------------------------------


def test_a_stopped_worker_that_continues_does_not_leave_an_older_status(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bridge.forward(task_event()) == ["done"]
    bridge.receive(ticket_event(1, of_ticket=ticket(status=5)))

    def meanwhile() -> None:
        let_leases_run_out(bridge)
        bridge.receive(ticket_event(2, of_ticket=ticket(status=6)))
        bridge.service.sync(4711)

    with stopped(monkeypatch, "PUT", "/issues/6.json", meanwhile, sent=False):
        bridge.sync()
    a_sweep(bridge).ring_due()
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
    """Somebody moved the issue by hand; the helpdesk's update sets it right, whatever arrives in the same drain."""
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


# --- what holds --------------------------------------------------------------------------------------------------


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
    with stopped(monkeypatch, "POST", path, meanwhile):
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
    with stopped(monkeypatch, "POST", "/issues.json", meanwhile):
        bridge.sync()
    held = row(bridge, Kind.TICKET, 4711)
    assert (held.state, held.candidates) == (LedgerState.HELD, [6, 7])


def test_redis_flushed_in_the_middle_of_a_drain_lets_two_drains_do_the_work_once(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile() -> None:
        bridge.redis.flushdb()
        bridge.service.sync(4711)

    bridge.receive(*(task_event(number, of_task=task(number)) for number in range(1, 4)))
    with stopped(monkeypatch, "POST", "/time_entries.json", meanwhile):
        bridge.sync()
    until_settled(bridge)
    assert (len(ours(stand_in)), len(entries(stand_in))) == (1, 3)


def test_an_outage_in_the_middle_of_a_drain_costs_only_what_was_sent_an_attempt_and_nothing_is_repeated(
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
    """Ticket 1 lost its request; ticket 2's issue is there, but its worker is stopped past its lease before linking."""
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
    with stopped(monkeypatch, "POST", "/issues.json", meanwhile):
        bridge.sync(2)
    until_settled(bridge, 1, 2)
    assert row(bridge, Kind.TICKET, 2).tracker_id == 6
    assert len(entries(stand_in)) == 2
    # ticket 1's hour was logged on #6 meanwhile; what must not happen is that it has no issue for good
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
    with stopped(monkeypatch, "POST", "/issues.json", meanwhile):
        bridge.sync(2)
    until_settled(bridge, 1, 2)
    assert [row(bridge, Kind.TICKET, key).state for key in (1, 2)] == ["linked", "linked"]
    assert {row(bridge, Kind.TICKET, key).tracker_id for key in (1, 2)} == {6, 7}
    assert (len(ours(stand_in)), len(entries(stand_in))) == (2, 2)


def test_no_pending_event_is_ever_without_a_next_time_or_due_for_ever(
    bridge: Bridge, stand_in: StandIn
) -> None:
    """Whatever the tracker answers to anything, a drain ends, and what is left pending is due later."""
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
            bridge.pause.end()


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


def test_no_drain_opens_a_transaction_inside_another(
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
    bridge.pause.begin(written("the tracker was away"), 0)
    with bridge.service.locks.hold("ticket:4711"):
        bridge.service.sync(4711)
    assert bridge.pause.enter().probing


def test_a_probe_that_the_database_fails_lets_another_one_probe(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise OperationalError("SELECT 1", {}, Exception("gone"))

    bridge.pause.begin(written("the tracker was away"), 0)
    with monkeypatch.context() as patched:
        patched.setattr("worker.sync.service.load", lambda *_: fail(None))
        with pytest.raises(OperationalError):
            bridge.service.sync(4711)
    assert bridge.pause.enter().probing


@pytest.mark.parametrize("off", [-60, 60])
def test_a_worker_whose_clock_is_off_neither_prolongs_nor_shortens_a_pause(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch, off: int
) -> None:
    real = time.time
    with monkeypatch.context() as patched:
        patched.setattr("time.time", lambda: real() + off)
        paused = Pause(bridge.redis).begin(written("down"), 5)
    assert 3 < bridge.pause.left(paused) <= 5
    with monkeypatch.context() as patched:
        patched.setattr("time.time", lambda: real() + off)
        assert Pause(bridge.redis).enter().blocked_by is not None
    bridge.pause.end()
