"""A tracker that stores other texts than were sent gets each note, time entry and issue once, or a person decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import requests

from deploy.sandbox.tracker.control import StandIn
from shared.notices.kinds import Kind
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerState
from tests.integration.test_recovery import Backup
from tests.support.bridge import Bridge
from tests.support.events import followup, followup_event, on_ticket, solution_event, task_event, ticket_event
from tests.support.ledger import entries, notes_of, ours, row, stopped, until_settled

pytestmark = pytest.mark.promise("OPS-30")
ISSUE = "/issues/6.json"
NOBODY_KNOWN = {"id": 99, "name": "nemo", "email": "nemo@elsewhere.test"}


@pytest.fixture
def begun(bridge: Bridge, stand_in: StandIn) -> Bridge:
    """A bridge that sends all notes to such a tracker, with a ticket that has its issue."""
    stand_in.settings(edits_texts=True)
    bridge.configure(sync_followups="all", sync_solutions="on")
    assert bridge.forward(task_event()) == [EventState.DONE]
    return bridge


def write(stand_in: StandIn, text: str, login: str | None = "alice", issue_id: int = 6) -> None:
    """Add a note as a person does on the tracker's own pages; None: as the API user."""
    headers = {"X-Redmine-API-Key": stand_in.api_key}
    if login:
        headers["X-Redmine-Switch-User"] = login
    url, body = f"{stand_in.base_url}/issues/{issue_id}.json", {"issue": {"notes": text}}
    assert requests.put(url, json=body, headers=headers, timeout=10).status_code == 204


def add(stand_in: StandIn, path: str, name: str, login: str, **values: Any) -> int:
    """Create an issue or a time entry as a person does, and return its id."""
    headers = {"X-Redmine-API-Key": stand_in.api_key, "X-Redmine-Switch-User": login}
    made = requests.post(f"{stand_in.base_url}{path}", json={name: values}, headers=headers, timeout=10)
    assert made.status_code == 201, made.text
    return int(made.json()[name]["id"])


def written(stand_in: StandIn) -> list[tuple[str, str]]:
    return [(who, text) for who, text, _ in notes_of(stand_in)]


@pytest.mark.parametrize("before", [None, "alice", "admin"])
def test_a_note_whose_text_is_changed_is_there_once(
    begun: Bridge, stand_in: StandIn, before: str | None
) -> None:
    """A note that somebody wrote by hand a moment before is no reason to send it again."""
    if before:
        write(stand_in, "Called the user", None if before == "admin" else before)
    (event_id,) = begun.receive(followup_event(1))
    begun.sync()
    until_settled(begun)
    assert begun.event(event_id).state == EventState.DONE, begun.steps()
    assert written(stand_in)[bool(before) :] == [("alice", "<p>Toner 77 ordered</p>")], begun.steps()
    assert row(begun, Kind.FOLLOWUP, 77).author_id == 5


@pytest.mark.parametrize("before", [None, "alice", "admin"])
def test_a_note_of_an_unknown_author_is_there_once(
    begun: Bridge, stand_in: StandIn, before: str | None
) -> None:
    if before:
        write(stand_in, "Called the user", None if before == "admin" else before)
    event = followup_event(1, of_followup=followup(user=NOBODY_KNOWN))
    (event_id,) = begun.receive(event)
    begun.sync()
    until_settled(begun)
    assert begun.event(event_id).state == EventState.DONE, begun.steps()
    assert [who for who, _ in written(stand_in)[bool(before) :]] == ["admin"]


def test_notes_of_one_pass_are_each_there_once_and_cost_one_call_more(
    begun: Bridge, stand_in: StandIn
) -> None:
    """The first read recognises the issue and sees its notes."""
    write(stand_in, "Called the user")
    since = stand_in.requests()[-1]["n"]
    begun.receive(
        *(followup_event(number, of_followup=followup(number)) for number in (1, 2, 3)), solution_event(4)
    )
    begun.sync()
    texts = [text for _, text in written(stand_in)[1:]]
    assert texts == [*(f"<p>Toner {number} ordered</p>" for number in (1, 2, 3)), "<p>Toner replaced</p>"]
    assert [one["method"] for one in stand_in.requests(since) if one["path"] == ISSUE] == [
        "GET", *["PUT", "GET"] * 4,
    ]  # fmt: skip


@pytest.mark.parametrize("fault", ["timeout_after", "reset_after", "status_after"])
def test_a_changed_note_without_a_clear_answer_waits_for_a_person(
    begun: Bridge, stand_in: StandIn, fault: str
) -> None:
    write(stand_in, "Called the user")
    seconds = {"seconds": 7} if "timeout" in fault else {}
    stand_in.fault(fault, method="PUT", path=ISSUE, count=1, **seconds)
    (event_id,) = begun.receive(followup_event(1))
    begun.sync()
    until_settled(begun)
    assert len(written(stand_in)) == 2
    held = row(begun, Kind.FOLLOWUP, 77)
    assert held.state == LedgerState.ON_HOLD
    assert held.candidates == [max(one["id"] for one in stand_in.state()["issues"][-1]["journals"])]
    assert "another text" in str(held.reason)
    assert begun.event(event_id).state == EventState.ON_HOLD


def test_two_notes_that_may_be_ours_wait_for_a_person(begun: Bridge, stand_in: StandIn) -> None:
    """Alice writes a note by hand just between the look before and the look after."""
    begun.receive(followup_event(1))
    with stopped("PUT", ISSUE, lambda: write(stand_in, "Called the user"), sent=False):
        begun.service.sync(4711)
    until_settled(begun)
    held = row(begun, Kind.FOLLOWUP, 77)
    assert (held.state, len(held.candidates or ())) == (LedgerState.ON_HOLD, 2), begun.steps()
    assert len(written(stand_in)) == 2


@pytest.mark.parametrize("fault", ["timeout_after", "reset_after", "garbage_after"])
def test_a_changed_time_entry_without_a_clear_answer_waits_for_a_person(
    begun: Bridge, stand_in: StandIn, fault: str
) -> None:
    """Nothing is logged twice: three entries for one task was the worst that people saw."""
    seconds = {"seconds": 7} if "timeout" in fault else {}
    stand_in.fault(fault, method="POST", path="/time_entries.json", **seconds)
    event = task_event(2)
    event["task"]["id"] = 513
    begun.receive(event)
    begun.sync()
    until_settled(begun)
    made = [one["id"] for one in entries(stand_in)]
    assert len(made) == 2, begun.steps()
    held = row(begun, Kind.TICKET_TASK, 513)
    assert (held.state, held.candidates) == (LedgerState.ON_HOLD, made[1:]), begun.steps()


@pytest.mark.parametrize("fault", ["timeout_after", "reset_after", "garbage_after"])
def test_a_changed_issue_without_a_clear_answer_waits_for_a_person(
    begun: Bridge, stand_in: StandIn, fault: str
) -> None:
    seconds = {"seconds": 7} if "timeout" in fault else {}
    stand_in.fault(fault, method="POST", path="/issues.json", **seconds)
    begun.receive(on_ticket(task_event(2), 4712, 513))
    begun.sync(4712)
    until_settled(begun, 4712)
    made = [one["id"] for one in ours(stand_in)]
    assert len(made) == 2, begun.steps(4712)
    held = row(begun, Kind.TICKET, 4712)
    assert (held.state, held.candidates) == (LedgerState.ON_HOLD, made[1:]), begun.steps(4712)


@pytest.mark.parametrize("kind", [Kind.TICKET, Kind.TICKET_TASK, Kind.FOLLOWUP])
def test_what_was_there_before_the_send_is_no_reason_to_wait(
    begun: Bridge, stand_in: StandIn, kind: Kind
) -> None:
    """Alice made one by hand before, and the tracker never got ours: it is sent again."""
    stand_in.settings(edits_texts=False)
    if kind is Kind.TICKET:
        add(stand_in, "/issues.json", "issue", "alice", project_id=1, subject="By hand", description="x")
        begun.receive(on_ticket(ticket_event(), 4800), on_ticket(task_event(), 4800, 600))
        begun.sync(4800)  # its issue is newer, and linked
    elif kind is Kind.TICKET_TASK:
        add(stand_in, "/time_entries.json", "time_entry", "alice", issue_id=6, hours=1.5, comments="By hand")
        begun.receive(on_ticket(task_event(), 4711, 600))
        begun.sync()
    else:
        write(stand_in, "By hand")
    path = kind.path if not kind.is_addition else ISSUE
    stand_in.fault("reset_before", method="PUT" if kind.is_addition else "POST", path=path, count=1)
    ticket_id, key = (4712, 4712) if kind is Kind.TICKET else (4711, 513)
    if kind is Kind.FOLLOWUP:
        key = 77
        begun.receive(followup_event(3))
    else:
        begun.receive(on_ticket(task_event(3), ticket_id, 513))
    begun.sync(ticket_id)
    until_settled(begun, ticket_id)
    assert row(begun, kind, key).state == LedgerState.LINKED, begun.steps(ticket_id)


def test_objects_of_other_rows_in_doubt_are_no_reason_to_wait(bridge: Bridge, stand_in: StandIn) -> None:
    """Ten answers are lost; half of the creations had no effect. Each text tells whose object it is."""
    for number in range(10):
        stand_in.fault(
            "reset_after" if number % 2 else "reset_before",
            method="POST", path="/issues.json", text=f"Printer {number} ", count=1,
        )  # fmt: skip
    for number in range(10):
        event = on_ticket(task_event(), 5000 + number, 6000 + number)
        event["ticket"] |= {"title": f"Printer {number} is on fire"}
        bridge.receive(event)
        bridge.sync(5000 + number)
        bridge.redis.flushdb()  # so many unclear answers would let all tickets wait
    until_settled(bridge, *(5000 + number for number in range(10)))
    for number in range(10):
        assert row(bridge, Kind.TICKET, 5000 + number).state == LedgerState.LINKED, bridge.steps(
            5000 + number
        )
    assert len(ours(stand_in)) == 10


@pytest.mark.parametrize("kind", [Kind.TICKET, Kind.TICKET_TASK, Kind.FOLLOWUP])
def test_after_a_restore_nothing_that_was_changed_is_sent_again(
    begun: Bridge, stand_in: StandIn, tmp_path: Path, kind: Kind
) -> None:
    backup = Backup(begun, tmp_path)
    ticket_id = 4712 if kind is Kind.TICKET else 4711
    events = {
        Kind.TICKET: [on_ticket(task_event(2), 4712, 513)],
        Kind.TICKET_TASK: [on_ticket(task_event(2), 4711, 513)],
        Kind.FOLLOWUP: [followup_event(2)],
    }[kind]
    assert begun.forward(*events, ticket_id=ticket_id) == [EventState.DONE]
    before = len(ours(stand_in)), len(entries(stand_in)), len(written(stand_in))
    backup.restore()
    begun.forward(*events, ticket_id=ticket_id)
    until_settled(begun, ticket_id)
    assert (len(ours(stand_in)), len(entries(stand_in)), len(written(stand_in))) == before
    key = {Kind.TICKET: 4712, Kind.TICKET_TASK: 513, Kind.FOLLOWUP: 77}[kind]
    assert row(begun, kind, key).state == LedgerState.ON_HOLD, begun.steps(ticket_id)


def test_after_a_restore_a_tracker_that_is_known_to_keep_texts_gets_new_notes_at_once(
    begun: Bridge, stand_in: StandIn, tmp_path: Path
) -> None:
    """A note by hand since the backup is no reason to wait: an earlier note still has the text that was sent."""
    stand_in.settings(edits_texts=False)
    assert begun.forward(followup_event(2)) == [EventState.DONE]
    backup = Backup(begun, tmp_path)
    write(stand_in, "By hand")
    backup.restore()
    assert begun.forward(followup_event(3, of_followup=followup(78))) == [EventState.DONE], begun.steps()


def test_after_a_restore_a_new_note_continues_once_lost_ones_have_their_own(
    begun: Bridge, stand_in: StandIn, tmp_path: Path
) -> None:
    """Nothing tells yet whether the tracker keeps texts. What the help desk sends again takes its own notes."""
    stand_in.settings(edits_texts=False)
    backup = Backup(begun, tmp_path)
    lost = followup_event(2)
    assert begun.forward(lost) == [EventState.DONE]
    backup.restore()
    assert begun.forward(followup_event(3, of_followup=followup(78))) == [EventState.ON_HOLD]
    assert begun.forward(lost) == [EventState.DONE], begun.steps()
    until_settled(begun)
    assert written(stand_in) == [("alice", "Toner 77 ordered"), ("alice", "Toner 78 ordered")]
    assert row(begun, Kind.FOLLOWUP, 78).state == LedgerState.LINKED
