"""After lost answers, lost workers and restored backups each follow-up and solution is one note, or on hold."""

from __future__ import annotations

import itertools
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deploy.sandbox.tracker.control import StandIn
from producer.admin.review.held import decide
from shared.notices.kinds import Kind
from shared.notices.reasons import Reason
from shared.store.ledger.send_window import SendWindow
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerState
from tests.integration.test_recovery import Backup
from tests.support.bridge import Bridge
from tests.support.crashes import WorkerDied, die
from tests.support.events import ALICE, BOB, followup, followup_event, on_ticket, solution_event, task_event
from tests.support.ledger import (
    a_sweep,
    after_the_put,
    let_leases_run_out,
    notes_of,
    row,
    stopped,
    until_settled,
)
from worker.ticket.create import Link

ISSUE = "/issues/6.json"
LOST_AFTER = ["reset_after", "timeout_after", "garbage_after", "status_after"]
LOST_BEFORE = ["reset_before", "timeout_before", "status_before"]
DEVELOPER, REPORTER = 4, 5
PUBLIC_PROJECT, PRIVATE_PROJECT = 2, 4
ON_TRACKER = 5
"""Alice's id in the tracker."""


@pytest.fixture
def begun(bridge: Bridge) -> Bridge:
    """A bridge that sends all notes, with a ticket that has its issue."""
    bridge.configure(sync_followups="all", sync_solutions="on")
    assert bridge.forward(task_event()) == [EventState.DONE]
    return bridge


def texts(stand_in: StandIn) -> list[str]:
    return [text for _, text, _ in notes_of(stand_in)]


def journals(stand_in: StandIn, issue_id: int) -> list[dict[str, Any]]:
    """Return the notes of an issue."""
    (issue,) = (one for one in stand_in.state()["issues"] if one["id"] == issue_id)
    return [one for one in issue["journals"] if one["notes"]]


def lose(stand_in: StandIn, fault: str, method: str = "PUT", count: int = 1) -> None:
    seconds = {"seconds": 7} if "timeout" in fault else {}
    stand_in.fault(fault, method=method, path=ISSUE, count=count, **seconds)


@pytest.mark.parametrize("fault", [*LOST_AFTER, *LOST_BEFORE])
def test_a_note_whose_answer_was_lost_is_there_once(begun: Bridge, stand_in: StandIn, fault: str) -> None:
    lose(stand_in, fault)
    (event_id,) = begun.receive(followup_event(1))
    begun.sync()
    assert row(begun, Kind.FOLLOWUP, 77).state == LedgerState.IN_DOUBT
    until_settled(begun)
    assert notes_of(stand_in) == [("alice", "Toner 77 ordered", False)]
    assert begun.event(event_id).state == "done", begun.steps()


@pytest.mark.parametrize("fault", [*LOST_AFTER[:3], "status_before"])
def test_a_note_that_could_not_be_read_back_is_found_later(
    begun: Bridge, stand_in: StandIn, fault: str
) -> None:
    """The 204 has no id, and the read that would have found the note fails."""
    (event_id,) = begun.receive(solution_event(1))
    with after_the_put(lambda: lose(stand_in, fault, method="GET")):
        begun.sync()
    assert row(begun, Kind.SOLUTION, 77).state == LedgerState.IN_DOUBT
    until_settled(begun)
    assert texts(stand_in) == ["Toner replaced"]
    assert begun.event(event_id).state == "done", begun.steps()


@pytest.mark.parametrize("status", [401, 403, 404, 429])
def test_a_refused_read_back_does_not_let_the_note_be_sent_again(
    begun: Bridge, stand_in: StandIn, status: int
) -> None:
    """Whatever the answer to the read is, the note may exist."""
    begun.receive(followup_event(1))
    refuse = partial(stand_in.fault, "status_before", method="GET", path=ISSUE, status=status, count=1)
    with after_the_put(refuse):
        begun.sync()
    begun.redis.flushdb()
    until_settled(begun)
    assert texts(stand_in) == ["Toner 77 ordered"], begun.steps()
    assert row(begun, Kind.FOLLOWUP, 77).state == LedgerState.LINKED


@pytest.mark.parametrize("fault", ["reset_after", "garbage_after", "status_before"])
@pytest.mark.parametrize("status", [401, 403, 404, 429, 500])
def test_a_look_before_the_note_that_fails_costs_at_most_time(
    begun: Bridge, stand_in: StandIn, fault: str, status: int
) -> None:
    stand_in.fault(fault, method="GET", path=ISSUE, status=status, count=1)
    begun.receive(followup_event(1))
    begun.sync()
    begun.redis.flushdb()
    until_settled(begun)
    assert texts(stand_in) == ["Toner 77 ordered"], begun.steps()
    assert row(begun, Kind.FOLLOWUP, 77).state == LedgerState.LINKED


def test_redmine_goes_away_right_after_the_note(begun: Bridge, stand_in: StandIn) -> None:
    """Further calls are not allowed: that must not free the row of a note that exists."""
    begun.receive(followup_event(1))

    def meanwhile() -> None:
        begun.breaker.begin(Reason.ROW_CHANGED(), 60)

    with stopped("PUT", ISSUE, meanwhile):
        begun.service.sync(4711)
    begun.redis.flushdb()
    until_settled(begun)
    assert texts(stand_in) == ["Toner 77 ordered"]


@pytest.mark.parametrize("policy", ["lookup", "hold"])
def test_a_worker_killed_between_204_and_commit_leaves_one_note(
    begun: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    begun.configure(in_doubt_policy=policy)

    begun.receive(followup_event(1))
    with monkeypatch.context() as patched:
        patched.setattr(Link, "carry_out", die)
        with pytest.raises(WorkerDied):
            begun.sync()
    assert row(begun, Kind.FOLLOWUP, 77).state == LedgerState.CLAIMED
    let_leases_run_out(begun)
    until_settled(begun)
    assert texts(stand_in) == ["Toner 77 ordered"]
    expected = LedgerState.LINKED if policy == "lookup" else LedgerState.ON_HOLD
    assert row(begun, Kind.FOLLOWUP, 77).state == expected


def test_a_worker_killed_between_claim_and_send_leaves_a_note_that_another_sends(
    begun: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun.receive(followup_event(1))
    with monkeypatch.context() as patched:
        patched.setattr(SendWindow, "check", die)
        with pytest.raises(WorkerDied):
            begun.sync()
    assert row(begun, Kind.FOLLOWUP, 77).state == LedgerState.CLAIMED
    assert texts(stand_in) == []
    let_leases_run_out(begun)
    until_settled(begun)
    assert texts(stand_in) == ["Toner 77 ordered"]
    assert row(begun, Kind.FOLLOWUP, 77).state == LedgerState.LINKED


@pytest.mark.parametrize("sent", [True, False])
@pytest.mark.parametrize("policy", ["lookup", "hold"])
def test_a_worker_that_was_stopped_at_its_call_while_another_takes_over(
    begun: Bridge, stand_in: StandIn, policy: str, sent: bool
) -> None:
    """A worker that sends late adds a second note; then both are shown to a person."""
    begun.configure(in_doubt_policy=policy)

    def meanwhile() -> None:
        let_leases_run_out(begun)
        for _ in range(3):
            begun.hurry()
            begun.service.sync(4711)

    begun.receive(followup_event(1))
    with stopped("PUT", ISSUE, meanwhile, sent=sent):
        begun.sync()
    until_settled(begun)
    state = row(begun, Kind.FOLLOWUP, 77)
    if len(texts(stand_in)) == 1:
        assert state.state == LedgerState.LINKED
    else:
        assert not sent, (
            "another worker may be late by more than its lease, and only that is no reason to lose it"
        )
        assert (policy, state.state) == ("lookup", LedgerState.ON_HOLD)


def test_an_unclear_note_is_on_hold_if_the_policy_says_so_and_a_person_decides(
    begun: Bridge, stand_in: StandIn
) -> None:
    begun.configure(in_doubt_policy="hold")
    lose(stand_in, "reset_after")
    (event_id,) = begun.receive(followup_event(1))
    begun.sync()
    assert row(begun, Kind.FOLLOWUP, 77).state == LedgerState.ON_HOLD
    assert begun.event(event_id).state == EventState.ON_HOLD
    (number,) = [
        one["id"] for issue in stand_in.state()["issues"] for one in issue["journals"] if one["notes"]
    ]
    decide(begun.store, Kind.FOLLOWUP, 77, number)
    begun.sync()
    assert begun.event(event_id).state == EventState.DONE
    assert texts(stand_in) == ["Toner 77 ordered"]


def test_a_person_has_it_sent_again(begun: Bridge, stand_in: StandIn) -> None:
    begun.configure(in_doubt_policy="hold")
    lose(stand_in, "reset_before")
    (event_id,) = begun.receive(followup_event(1))
    begun.sync()
    decide(begun.store, Kind.FOLLOWUP, 77, None)
    begun.sync()
    assert begun.event(event_id).state == EventState.DONE
    assert texts(stand_in) == ["Toner 77 ordered"]


@pytest.mark.parametrize("faults", [("reset_after", "reset_after"), ("reset_after", "reset_before")])
def test_a_follow_up_and_a_solution_of_one_text_that_are_both_unclear_are_two_notes(
    begun: Bridge, stand_in: StandIn, faults: tuple[str, str]
) -> None:
    """They cannot be distinguished, so they are resolved together."""
    same = {"id": 77, "content": "Done", "user": ALICE}
    events = followup_event(1, of_followup=same), solution_event(2, of_solution=same)
    for event, fault in zip(events, faults, strict=True):
        lose(stand_in, fault)
        begun.receive(event)
        begun.sync()
    until_settled(begun, rounds=10)
    assert texts(stand_in) == ["Done", "Done"]
    linked = {row(begun, kind, 77).tracker_id for kind in (Kind.FOLLOWUP, Kind.SOLUTION)}
    assert len(linked) == 2


@pytest.mark.promise("OPS-05")
def test_notes_that_redmine_has_beyond_a_backup_are_not_sent_again(
    begun: Bridge, stand_in: StandIn, tmp_path: Path
) -> None:
    backup = Backup(begun, tmp_path)
    events = followup_event(1), solution_event(2), followup_event(3, of_followup=followup(78, user=BOB))
    assert begun.forward(*events) == [EventState.DONE] * 3
    backup.restore()
    assert begun.forward(*events) == [EventState.DONE] * 3, begun.steps()
    assert begun.forward(followup_event(4, of_followup=followup(79))) == [EventState.DONE]
    assert len(texts(stand_in)) == 4


@pytest.mark.promise("OPS-05")
@pytest.mark.parametrize("is_refused_again", [True, False])
def test_a_note_that_names_its_person_and_that_redmine_has_beyond_a_backup_is_not_sent_again(
    begun: Bridge, stand_in: StandIn, tmp_path: Path, is_refused_again: bool
) -> None:
    backup = Backup(begun, tmp_path)
    stand_in.patch("users", ON_TRACKER, status=3)
    event = followup_event(1, of_followup=followup(user={**ALICE, "name": "Alice Archer"}))
    assert begun.forward(event) == [EventState.DONE]
    backup.restore()
    if not is_refused_again:
        stand_in.patch("users", ON_TRACKER, status=1)
    assert begun.forward(event) == [EventState.DONE], begun.steps()
    assert notes_of(stand_in) == [("admin", "Alice Archer:\n\nToner 77 ordered", False)]


def test_a_note_that_redmine_silently_leaves_out_is_sent_as_the_api_user(
    begun: Bridge, stand_in: StandIn
) -> None:
    stand_in.patch("roles", DEVELOPER, permissions=["view_issues", "edit_issues", "log_time"])
    assert begun.forward(followup_event(1)) == [EventState.DONE]
    assert notes_of(stand_in) == [("admin", "Toner 77 ordered", False)]
    assert "Add notes" in str(begun.event(2).reason)


@pytest.mark.promise("SEC-80")
def test_a_private_note_never_becomes_public(begun: Bridge, stand_in: StandIn) -> None:
    """Redmine would make it public if a person may not set notes as private."""
    stand_in.patch("roles", DEVELOPER, permissions=["view_issues", "add_issue_notes", "edit_issues"])
    author = {**ALICE, "name": "Alice Archer"}
    private = followup_event(1, of_followup=followup(is_private=True, user=author))
    assert begun.forward(private) == [EventState.DONE]
    assert notes_of(stand_in) == [("admin", "Alice Archer:\n\nToner 77 ordered", True)]


@pytest.mark.parametrize("is_member", [False, True], ids=["not a member there", "a member there"])
def test_a_private_note_on_a_moved_issue_is_its_persons_if_they_are_a_member_there(
    begun: Bridge, stand_in: StandIn, is_member: bool
) -> None:
    stand_in.patch("issues", 6, project_id=PRIVATE_PROJECT)
    if is_member:
        join(begun, PRIVATE_PROJECT, DEVELOPER)
    private = followup_event(1, of_followup=followup(is_private=True))
    assert begun.forward(private) == [EventState.DONE]
    assert notes_of(stand_in) == [("alice" if is_member else "admin", "Toner 77 ordered", True)]


@pytest.mark.promise("SEC-80")
def test_a_private_note_stays_private_where_its_person_has_fewer_rights_in_the_project_it_was_moved_to(
    begun: Bridge, stand_in: StandIn
) -> None:
    stand_in.patch("roles", REPORTER, permissions=["view_issues", "add_issue_notes"])
    (membership_id,) = (
        one["id"]
        for one in stand_in.state()["memberships"]
        if (one["project_id"], one["user_id"]) == (PUBLIC_PROJECT, ON_TRACKER)
    )
    stand_in.patch("memberships", membership_id, role_ids=[REPORTER])
    stand_in.patch("issues", 6, project_id=PUBLIC_PROJECT)
    private = followup_event(1, of_followup=followup(is_private=True))
    assert begun.forward(private) == [EventState.DONE]
    assert notes_of(stand_in) == [("admin", "Toner 77 ordered", True)]


def join(bridge: Bridge, project_id: int, role_id: int) -> None:
    """Make Alice a member of a tracker project."""
    with bridge.store.transaction() as tx:
        client = bridge.service.connect(tx)[1]
    membership = {"membership": {"user_id": ON_TRACKER, "role_ids": [role_id]}}
    client.call("POST", f"/projects/{project_id}/memberships.json", body=membership)


def test_an_issue_that_was_deleted_waits_for_a_person_and_gets_its_notes_again(
    begun: Bridge, stand_in: StandIn
) -> None:
    begun.forward(followup_event(1))
    stand_in.remove("issues", 6)
    (event_id,) = begun.receive(followup_event(2, of_followup=followup(78)))
    begun.sync()
    assert begun.event(event_id).state == EventState.ON_HOLD
    decide(begun.store, Kind.TICKET, 4711, None)
    until_settled(begun)
    assert texts(stand_in) == ["Toner 77 ordered", "Toner 78 ordered"]


def test_a_note_on_an_issue_that_a_person_replaces_is_on_hold_until_they_decide(
    begun: Bridge, stand_in: StandIn
) -> None:
    begun.forward(followup_event(1))
    (note_id,) = (one["id"] for one in journals(stand_in, 6))
    with begun.store.transaction() as tx:
        tx.issues.gone(4711, 6, Reason.ISSUE_GONE(issue_id=6))
    decide(begun.store, Kind.TICKET, 4711, 1)
    held = row(begun, Kind.FOLLOWUP, 77)
    assert (held.state, held.candidates) == (LedgerState.ON_HOLD, [note_id])
    assert held.notice == Reason.ISSUE_GIVEN_UP(issue_id=6, adopted_id=1)
    decide(begun.store, Kind.FOLLOWUP, 77, None)
    until_settled(begun)
    assert [one["notes"] for one in journals(stand_in, 1)] == ["Toner 77 ordered"]


def test_the_sweep_notifies_a_ticket_whose_note_is_in_doubt_and_that_no_event_asks_for(
    begun: Bridge, stand_in: StandIn
) -> None:
    lose(stand_in, "reset_after")
    (event_id,) = begun.receive(followup_event(1))
    begun.sync()
    with begun.store.transaction() as tx:
        tx.journal.end([event_id], EventState.SKIPPED, Reason.FOLLOWUPS_OFF())
    begun.hurry()
    a_sweep(begun).notify_due()
    assert begun.notified == [4711]
    begun.sync()
    assert row(begun, Kind.FOLLOWUP, 77).state == LedgerState.LINKED


TICKETS = itertools.count(5001)
"""Numbers of the examples' tickets."""
FAULTS = st.lists(
    st.tuples(
        st.sampled_from(["PUT", "GET"]),
        st.sampled_from(
            ["reset_after", "reset_before", "garbage_after", "status_before", "status_after", "none"]
        ),
        st.integers(min_value=1, max_value=3),
    ),
    max_size=6,
)
EVENTS = st.lists(
    st.tuples(
        st.sampled_from([Kind.FOLLOWUP, Kind.SOLUTION]),
        st.integers(min_value=1, max_value=4),
        st.sampled_from(["one", "two"]),
        st.sampled_from([7, 8]),
        st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.promise("OPS-14")
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(faults=FAULTS, given_events=EVENTS)
def test_whatever_is_lost_each_note_is_there_once(
    begun: Bridge,
    stand_in: StandIn,
    faults: list[tuple[str, str, int]],
    given_events: list[tuple[Kind, int, str, int, bool]],
) -> None:
    ticket_id = next(TICKETS)
    begun.redis.flushdb()
    stand_in.clear_faults()
    begun.receive(on_ticket(task_event(0), ticket_id, 10_000 + ticket_id))
    begun.sync(ticket_id)
    issue_id = row(begun, Kind.TICKET, ticket_id).tracker_id
    path = f"/issues/{issue_id}.json"
    wanted = dict[tuple[Kind, int], tuple[str, str]]()
    pending = list(faults)
    for at, (kind, number, text, user, dies) in enumerate(given_events, 1):
        if pending and pending[0][1] != "none":
            method, fault, count = pending.pop(0)
            stand_in.fault(fault, method=method, path=path, count=count)
        key = ticket_id * 10 + number
        person = ALICE if user == ALICE["id"] else BOB
        content = {"id": key, "content": text, "user": person}
        made = (
            followup_event(at, of_followup=content)
            if kind is Kind.FOLLOWUP
            else solution_event(at, of_solution=content)
        )
        begun.receive(on_ticket(made, ticket_id))
        wanted.setdefault((kind, key), (text, "alice" if person is ALICE else "bob"))
        with pytest.MonkeyPatch.context() as patched:
            if dies:
                patched.setattr(Link, "carry_out", die)
            try:
                begun.sync(ticket_id)
            except WorkerDied:
                let_leases_run_out(begun)
    stand_in.clear_faults()
    for _ in range(12):
        begun.redis.flushdb()
        begun.hurry()
        let_leases_run_out(begun)
        begun.sync(ticket_id)
    (issue,) = [one for one in stand_in.state()["issues"] if one["id"] == issue_id]
    found = Counter(one["notes"] for one in issue["journals"] if one["notes"])
    # the newest event of a follow-up that is not sent yet decides its text, so only the number is certain
    linked = [row(begun, *one) for one in wanted]
    assert [one.state for one in linked] == [LedgerState.LINKED] * len(wanted), begun.steps(ticket_id)
    assert len({one.tracker_id for one in linked}) == len(wanted)
    assert found.total() == len(wanted), (found, begun.steps(ticket_id))
