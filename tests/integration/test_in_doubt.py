"""After lost answers and lost workers each creation has one effect, and is linked or on hold."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from deploy.sandbox.tracker.control import StandIn
from producer.admin.review.held import decide
from shared.notices.kinds import Kind
from shared.notices.notice import written
from shared.redis.locks import Locks
from shared.store.tables.journal import JournalEvent
from shared.store.tables.ledger import LedgerRow, LedgerState, TicketIssueLink
from shared.store.tables.types import clock
from shared.tracker.lists import TrackerLists
from tests.support.bridge import Bridge
from tests.support.crashes import WorkerDied, die
from tests.support.events import BOB, task, task_event, ticket, ticket_event
from tests.support.ledger import let_leases_run_out
from worker.ticket.create import Link
from worker.ticket.retry import MOST_ROUNDS, MOST_SILENT_ROUNDS

LOST_AFTER = ["reset_after", "timeout_after", "garbage_after", "status_after"]
LOST_BEFORE = ["reset_before", "timeout_before", "status_before"]


def lose(stand_in: StandIn, kind: str, path: str, count: int = 1) -> None:
    stand_in.fault(
        kind, method="POST", path=path, count=count, **({"seconds": 7} if "timeout" in kind else {})
    )


def ours(stand_in: StandIn) -> list[dict[str, Any]]:
    return [issue for issue in stand_in.state()["issues"] if issue["id"] > 5]


def row(bridge: Bridge, kind: Kind, key: int) -> LedgerRow:
    with bridge.store.transaction() as tx:
        found = tx.ledger(kind).get(key)
    assert found is not None
    return found


def until_settled(bridge: Bridge, *ticket_ids: int) -> None:
    for _ in range(6):
        bridge.hurry()
        for ticket_id in ticket_ids or (4711,):
            bridge.sync(ticket_id)


@pytest.mark.parametrize("fault", LOST_AFTER)
def test_an_issue_whose_answer_was_lost_is_found_again(bridge: Bridge, stand_in: StandIn, fault: str) -> None:
    lose(stand_in, fault, "/issues.json")
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    until_settled(bridge)
    assert bridge.event(event_id).state == "done", bridge.steps()
    assert len(ours(stand_in)) == 1
    assert row(bridge, Kind.TICKET, 4711).tracker_id == ours(stand_in)[0]["id"]


@pytest.mark.parametrize("fault", LOST_BEFORE)
def test_an_issue_that_was_never_made_is_made_again(bridge: Bridge, stand_in: StandIn, fault: str) -> None:
    lose(stand_in, fault, "/issues.json")
    bridge.receive(task_event())
    bridge.sync()
    until_settled(bridge)
    assert len(ours(stand_in)) == 1
    assert row(bridge, Kind.TICKET, 4711).attempt == 2
    assert len(stand_in.state()["time_entries"]) == 1


@pytest.mark.parametrize("fault", [LOST_AFTER[0], LOST_BEFORE[0]])
def test_time_whose_answer_was_lost_is_logged_once(bridge: Bridge, stand_in: StandIn, fault: str) -> None:
    lose(stand_in, fault, "/time_entries.json")
    bridge.receive(task_event(of_task=task(user=BOB)))
    bridge.sync()
    until_settled(bridge)
    (entry,) = stand_in.state()["time_entries"]
    assert entry["user"] == "bob"
    assert row(bridge, Kind.TICKET_TASK, 512).tracker_id == entry["id"]


def test_two_tickets_of_equal_text_through_lost_answers_are_two_issues(
    bridge: Bridge, stand_in: StandIn
) -> None:
    lose(stand_in, "reset_after", "/issues.json", count=2)
    same = {"title": "Printer on fire", "content": "burns"}
    for number, ticket_id in enumerate((1, 2)):
        bridge.receive(task_event(number, of_ticket=ticket(ticket_id, **same), of_task=task(ticket_id)))
        bridge.service.sync(ticket_id)
    assert {row(bridge, Kind.TICKET, key).state for key in (1, 2)} == {LedgerState.IN_DOUBT}
    until_settled(bridge, 1, 2)
    assert len(ours(stand_in)) == 2
    assert {row(bridge, Kind.TICKET, key).tracker_id for key in (1, 2)} == {6, 7}
    assert len(stand_in.state()["time_entries"]) == 2


def test_one_of_two_equal_tickets_was_made_and_the_other_is_made_again(
    bridge: Bridge, stand_in: StandIn
) -> None:
    same = {"title": "Printer on fire", "content": "burns"}
    for ticket_id, fault in ((1, "reset_after"), (2, "reset_before")):
        lose(stand_in, fault, "/issues.json")
        bridge.receive(task_event(ticket_id, of_ticket=ticket(ticket_id, **same), of_task=task(ticket_id)))
        bridge.service.sync(ticket_id)
    until_settled(bridge, 2, 1)
    assert len(ours(stand_in)) == 2
    assert {row(bridge, Kind.TICKET, key).tracker_id for key in (1, 2)} == {6, 7}


def test_two_tasks_of_equal_text_and_hours_through_lost_answers_are_two_entries(
    bridge: Bridge, stand_in: StandIn
) -> None:
    lose(stand_in, "reset_after", "/time_entries.json", count=2)
    for task_id in (1, 2):
        bridge.receive(task_event(task_id, of_task=task(task_id, content="the same")))
    bridge.sync()
    until_settled(bridge)
    assert len(stand_in.state()["time_entries"]) == 2
    assert {row(bridge, Kind.TICKET_TASK, key).tracker_id for key in (1, 2)} == {1, 2}


@pytest.mark.parametrize("redmine", ["5.0", "6.0", "6.1"])
@pytest.mark.parametrize("seconds", [18, 5430])
def test_time_is_found_again_as_each_version_of_the_tracker_lists_it(
    bridge: Bridge, stand_in: StandIn, redmine: str, seconds: int
) -> None:
    stand_in.settings(redmine=redmine)
    lose(stand_in, "reset_after", "/time_entries.json")
    bridge.receive(task_event(of_task=task(actiontime=seconds)))
    bridge.sync()
    until_settled(bridge)
    (entry,) = stand_in.state()["time_entries"]
    assert row(bridge, Kind.TICKET_TASK, 512).tracker_id == entry["id"]


def test_what_may_be_a_siblings_who_is_still_under_way_is_neither_taken_nor_held(
    bridge: Bridge, stand_in: StandIn
) -> None:
    """Ticket 1 was not created, ticket 2 was, by another person; 1 is looked up before 2 may be."""
    same = {"title": "Printer on fire", "content": "burns"}
    for ticket_id, fault, who in ((1, "reset_before", None), (2, "reset_after", BOB)):
        lose(stand_in, fault, "/issues.json")
        of_ticket = ticket(ticket_id, technician=who, **same)
        bridge.receive(task_event(ticket_id, of_ticket=of_ticket, of_task=task(ticket_id)))
        bridge.service.sync(ticket_id)
    make_due(bridge, 1)
    bridge.service.sync(1)
    assert row(bridge, Kind.TICKET, 1).state == LedgerState.IN_DOUBT, row(bridge, Kind.TICKET, 1).reason
    until_settled(bridge, 1, 2)
    authors = {issue["id"]: issue["author"] for issue in ours(stand_in)}
    linked = {key: authors[row(bridge, Kind.TICKET, key).tracker_id or 0] for key in (1, 2)}
    assert linked == {1: "admin", 2: "bob"}


def test_siblings_that_wait_for_each_other_become_due_together(bridge: Bridge, stand_in: StandIn) -> None:
    same = {"title": "Printer on fire", "content": "burns"}
    for ticket_id in (1, 2):
        lose(stand_in, "reset_after", "/issues.json")
        bridge.receive(task_event(0, of_ticket=ticket(ticket_id, **same), of_task=task(ticket_id)))
        bridge.service.sync(ticket_id)
    make_due(bridge, 1)
    bridge.service.sync(1)
    first, second = (row(bridge, Kind.TICKET, key).settle_after for key in (1, 2))
    assert first is not None
    assert second is not None
    assert abs(first - second) < timedelta(seconds=1)
    assert row(bridge, Kind.TICKET, 1).rounds == 0


def make_due(bridge: Bridge, ticket_id: int) -> None:
    """Let one ticket's settling time end."""
    due = update(TicketIssueLink).where(TicketIssueLink.ticket_id == ticket_id)
    with bridge.store.database.transaction() as session:
        session.execute(due.values(settle_after=clock()))
        session.execute(update(JournalEvent).values(next_attempt_at=None))


def test_an_administrators_issue_is_not_taken_for_another_persons(bridge: Bridge, stand_in: StandIn) -> None:
    same = {"title": "Printer on fire", "content": "burns"}
    for ticket_id, who in ((1, None), (2, BOB)):
        lose(stand_in, "reset_after", "/issues.json")
        of_ticket = ticket(ticket_id, technician=who, **same)
        bridge.receive(task_event(0, of_ticket=of_ticket, of_task=task(ticket_id)))
        bridge.service.sync(ticket_id)
    stand_in_issues = {issue["author"]: issue["id"] for issue in ours(stand_in)}
    assert row(bridge, Kind.TICKET, 1).authors == [1], "the cache knows one administrator"
    until_settled(bridge, 2, 1)
    assert row(bridge, Kind.TICKET, 1).tracker_id == stand_in_issues["admin"]
    assert row(bridge, Kind.TICKET, 2).tracker_id == stand_in_issues["bob"]


def test_equal_tasks_of_two_people_each_get_their_own_entry(bridge: Bridge, stand_in: StandIn) -> None:
    lose(stand_in, "reset_after", "/time_entries.json", count=2)
    bridge.receive(task_event(1, of_task=task(1, content="the same")))
    bridge.receive(task_event(2, of_task=task(2, content="the same", user=BOB)))
    bridge.sync()
    until_settled(bridge)
    people = {entry["id"]: entry["user"] for entry in stand_in.state()["time_entries"]}
    owners = {key: people[row(bridge, Kind.TICKET_TASK, key).tracker_id or 0] for key in (1, 2)}
    assert owners == {1: "alice", 2: "bob"}


def die_before_linking(monkeypatch: pytest.MonkeyPatch, bridge: Bridge) -> None:
    bridge.receive(task_event())
    with monkeypatch.context() as patched:
        patched.setattr(Link, "carry_out", die)
        with pytest.raises(WorkerDied):
            bridge.sync()


def test_a_worker_killed_between_201_and_commit_ends_with_one_linked_issue(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    die_before_linking(monkeypatch, bridge)
    assert row(bridge, Kind.TICKET, 4711).state == LedgerState.CLAIMED
    let_leases_run_out(bridge)
    until_settled(bridge)
    assert len(ours(stand_in)) == 1
    assert row(bridge, Kind.TICKET, 4711).state == LedgerState.LINKED
    assert len(stand_in.state()["time_entries"]) == 1


def test_a_worker_killed_between_201_and_commit_is_held_where_the_policy_says_so(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    bridge.configure(in_doubt_policy="hold")
    die_before_linking(monkeypatch, bridge)
    let_leases_run_out(bridge)
    until_settled(bridge)
    assert len(ours(stand_in)) == 1
    assert row(bridge, Kind.TICKET, 4711).state == LedgerState.ON_HOLD


def test_a_lost_answer_is_held_at_once_where_the_policy_says_so(bridge: Bridge, stand_in: StandIn) -> None:
    bridge.configure(in_doubt_policy="hold")
    lose(stand_in, "reset_after", "/issues.json")
    assert bridge.forward(task_event(), ticket_event(1)) == ["on_hold", "on_hold"]
    held = row(bridge, Kind.TICKET, 4711)
    assert (held.state, held.body and held.body["issue"]["subject"]) == (
        LedgerState.ON_HOLD,
        "Printer 4711 on fire",
    )


def test_a_refused_key_never_passes_for_an_absent_issue(bridge: Bridge, stand_in: StandIn) -> None:
    """With a refused key a tracker answers lists with 200, as for anonymous users: that must not free the row."""
    lose(stand_in, "reset_after", "/issues.json")
    bridge.receive(task_event())
    bridge.sync()
    stand_in.settings(rest_enabled=False)
    until_settled(bridge)
    assert row(bridge, Kind.TICKET, 4711).state == LedgerState.IN_DOUBT
    stand_in.settings(rest_enabled=True)
    bridge.breaker.end()
    until_settled(bridge)
    assert len(ours(stand_in)) == 1


@pytest.mark.parametrize(
    "switches", [{"clock_offset": -120}, {"clock_offset": 3600}, {"date_header": False}], ids=str
)
def test_the_trackers_clock_may_be_off_or_unknown(
    bridge: Bridge, stand_in: StandIn, switches: dict[str, Any]
) -> None:
    stand_in.settings(**switches)
    lose(stand_in, "reset_after", "/issues.json")
    bridge.receive(task_event())
    bridge.sync()
    until_settled(bridge)
    assert len(ours(stand_in)) == 1


def test_the_trackers_clock_may_be_put_right_before_the_lookup(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.settings(clock_offset=-60)
    lose(stand_in, "reset_after", "/issues.json")
    bridge.receive(task_event())
    bridge.sync()
    stand_in.settings(clock_offset=60)
    until_settled(bridge)
    assert len(ours(stand_in)) == 1


@pytest.mark.parametrize("path", ["/issues.json", "/time_entries.json"])
def test_a_key_that_is_refused_in_the_middle_of_a_lookup_frees_nothing(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """The check reports that the tracker is open, and then the list is the one for anonymous users."""
    lose(stand_in, "reset_after", path)
    bridge.receive(task_event())
    bridge.sync()

    ask = TrackerLists.check_access

    def ask_and_close(lists: TrackerLists) -> None:
        ask(lists)
        stand_in.settings(rest_enabled=False)

    with monkeypatch.context() as patched:
        patched.setattr(TrackerLists, "check_access", ask_and_close)
        bridge.hurry()
        bridge.sync()
    stand_in.settings(rest_enabled=True)
    bridge.breaker.end()
    until_settled(bridge)
    assert len(ours(stand_in)) == 1
    assert len(stand_in.state()["time_entries"]) == 1


def test_a_late_answer_of_a_given_up_attempt_is_held_with_both_ids(bridge: Bridge, stand_in: StandIn) -> None:
    assert bridge.forward(task_event()) == ["done"]
    with bridge.store.transaction() as tx:
        assert not tx.issues.link(4711, 0, 99, None, written("late"))
        tx.issues.late_answer(4711, 99)
    held = row(bridge, Kind.TICKET, 4711)
    assert (held.state, held.candidates) == (LedgerState.ON_HOLD, [6, 99])


def test_who_finds_equal_ones_being_settled_keeps_nobody_waiting(bridge: Bridge, stand_in: StandIn) -> None:
    """Otherwise two workers at the same moment would delay each other whenever they meet."""
    lose(stand_in, "reset_after", "/issues.json", count=2)
    for number in (1, 2):
        bridge.receive(task_event(of_ticket=ticket(number, title="the same"), of_task=task(number)))
        bridge.sync(number)
    bridge.hurry()
    fingerprint = row(bridge, Kind.TICKET, 1).fingerprint
    with Locks(bridge.redis, 60).hold(f"settle:{fingerprint}"):
        bridge.service.sync(2)
    assert row(bridge, Kind.TICKET, 2).state == LedgerState.IN_DOUBT
    bridge.service.sync(1)
    assert [row(bridge, Kind.TICKET, number).state for number in (1, 2)] == [LedgerState.LINKED] * 2


def test_a_tracker_that_fails_for_a_minute_makes_no_person_decide(bridge: Bridge, stand_in: StandIn) -> None:
    lose(stand_in, "reset_after", "/issues.json")
    bridge.receive(task_event())
    bridge.sync()
    stand_in.fault("status_before", method="GET", status=500)
    for _ in range(2):
        until_settled(bridge)
    assert row(bridge, Kind.TICKET, 4711).rounds > 5
    stand_in.clear_faults()
    until_settled(bridge)
    assert row(bridge, Kind.TICKET, 4711).state == LedgerState.LINKED


@pytest.mark.parametrize(("status", "rounds"), [(404, MOST_ROUNDS), (500, MOST_SILENT_ROUNDS)])
def test_after_many_rounds_without_a_verdict_a_person_decides(
    bridge: Bridge, stand_in: StandIn, status: int, rounds: int
) -> None:
    lose(stand_in, "reset_after", "/issues.json")
    bridge.receive(task_event())
    bridge.sync()
    stand_in.fault("status_before", method="GET", path="/issues.json", status=status)
    with bridge.store.database.transaction() as session:
        session.execute(update(TicketIssueLink).values(rounds=rounds - 2))
    bridge.hurry()
    bridge.service.sync(4711)
    assert row(bridge, Kind.TICKET, 4711).state == LedgerState.IN_DOUBT
    bridge.hurry()
    bridge.service.sync(4711)
    assert row(bridge, Kind.TICKET, 4711).state == LedgerState.ON_HOLD
    assert "lookups; the last result" in (row(bridge, Kind.TICKET, 4711).reason or "")


def test_what_a_person_has_refused_is_not_taken_by_a_later_lookup(bridge: Bridge, stand_in: StandIn) -> None:
    """A lookup has a wide time margin, and the object refused a moment ago has the same text."""
    lose(stand_in, "reset_after", "/issues.json")
    bridge.receive(task_event())
    bridge.sync()
    with bridge.store.transaction() as tx:
        tx.issues.hold(4711, None, written("whose is it?"), [6])
    decide(bridge.store, Kind.TICKET, 4711, None)
    lose(stand_in, "reset_before", "/issues.json")
    bridge.sync()
    assert row(bridge, Kind.TICKET, 4711).state == LedgerState.IN_DOUBT
    until_settled(bridge)
    assert row(bridge, Kind.TICKET, 4711).tracker_id == 7
    assert row(bridge, Kind.TICKET, 4711).candidates is None
