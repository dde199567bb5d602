"""The drill's oracle reports each lost, duplicated or wrong object, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.notices.reasons import Reason
from tests.drill.day import FUTURE
from tests.drill.documents import TOO_LARGE
from tests.drill.expect import expect, hours_listed
from tests.drill.held import OnHold, judge
from tests.drill.load import Receipt
from tests.drill.oracle import Oracle
from tests.drill.pairing import pair
from tests.drill.skipped import Ended, wrongly_ended
from tests.support.events import (
    BOB,
    document,
    document_event,
    followup,
    followup_event,
    solution_event,
    task,
    task_event,
    ticket,
    ticket_event,
)

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
State = dict[str, list[dict[str, Any]]]
Deliveries = list[tuple[dict[str, Any], Receipt]]


def named(ticket_id: int, **changes: Any) -> dict[str, Any]:
    return ticket(ticket_id, title=f"Ticket {ticket_id}", **changes)


def accepted(*events: dict[str, Any], seconds: float = 1.0) -> Deliveries:
    came = (NOW + timedelta(seconds=number * 60) for number in range(len(events)))
    return [
        (event, Receipt(at, at + timedelta(seconds=seconds), event_id=number, times=1))
        for number, (event, at) in enumerate(zip(events, came, strict=True), 1)
    ]


def issue(number: int, subject: str, author: str = "alice", status: int = 2) -> dict[str, Any]:
    return {
        "id": number,
        "project": "support",
        "subject": subject,
        "description": "It burns",
        "author": author,
        "status_id": status,
    }


def entry(number: int, issue_id: int, comment: str, hours: float = 1.5, author: str = "alice") -> Any:
    return {"id": number, "issue_id": issue_id, "comments": comment, "hours": hours, "author": author}


TWO_TASKS = accepted(
    task_event(0, of_ticket=named(7), of_task=task(70)),
    task_event(1, of_ticket=named(7), of_task=task(71, user=BOB)),
)


def as_it_must_be() -> State:
    return {
        "issues": [issue(6, "Ticket 7")],
        "time_entries": [entry(1, 6, "Extinguished 70"), entry(2, 6, "Extinguished 71", author="bob")],
        "memberships": [{"project_id": 1, "user_id": 5}],
    }


def differences(
    state: State, deliveries: Deliveries, deleted: dict[int, int] | None = None, redmine: str = "5.0"
) -> str:
    return "\n".join(Oracle(expect(deliveries, redmine), state, deleted or {}).differences())


def test_an_entry_belongs_to_the_day_of_the_work_where_the_event_says_which_it_is() -> None:
    deliveries = accepted(task_event(of_ticket=named(7), of_task=task(70, date="2026-02-27")))
    state = {"issues": [issue(6, "Ticket 7")], "time_entries": [entry(1, 6, "Extinguished 70")]}
    state["time_entries"][0]["spent_on"] = "2026-02-27"
    assert differences(state, deliveries) == ""
    state["time_entries"][0]["spent_on"] = "2026-03-01"
    assert "lost: ticket task 70" in differences(state, deliveries)


def test_what_must_be_there_once_and_is_makes_no_difference() -> None:
    assert differences(as_it_must_be(), TWO_TASKS) == ""


CHANGES: dict[str, tuple[Callable[[State], object], str]] = {
    "a lost issue": (lambda s: s["issues"].clear(), "lost: 'Ticket 7'"),
    "a second issue": (lambda s: s["issues"].append(issue(8, "Ticket 7")), "twice: 'Ticket 7'"),
    "a lost entry": (lambda s: s["time_entries"].pop(), "lost: ticket task 71"),
    "a second entry": (
        lambda s: s["time_entries"].append(entry(3, 6, "Extinguished 70")),
        "twice: ticket tasks [70]",
    ),
    "an entry's author": (lambda s: s["time_entries"][1].update(author="admin"), "lost: ticket task 71"),
    "an entry's hours": (lambda s: s["time_entries"][0].update(hours=1.0), "one too many"),
    "an entry's comment": (lambda s: s["time_entries"][0].update(comments=""), "lost: ticket task 70"),
    "an entry of another issue": (
        lambda s: s["time_entries"][0].update(issue_id=1),
        "on no issue of a ticket",
    ),
    "an issue's author": (lambda s: s["issues"][0].update(author="bob"), "expected one of"),
    "an issue's text": (lambda s: s["issues"][0].update(description="-"), "expected one of"),
    "an issue's project": (lambda s: s["issues"][0].update(project="other"), "expected one of"),
    "an issue's status": (lambda s: s["issues"][0].update(status_id=3), "has status 3"),
    "an issue of nobody": (lambda s: s["issues"].append(issue(8, "Ticket 99")), "an issue of no ticket"),
    "a second membership": (
        lambda s: s["memberships"].append({"project_id": 1, "user_id": 5}),
        "twice: membership",
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_it_reports(what: str) -> None:
    change, words = CHANGES[what]
    state = as_it_must_be()
    change(state)
    assert words in differences(state, TWO_TASKS)


NOTED = [
    *TWO_TASKS,
    *accepted(
        followup_event(2, of_ticket=named(7), of_followup=followup(700, is_private=True)),
        solution_event(3, of_ticket=named(7), of_solution={"id": 700, "content": "<p>Done</p>", "user": BOB}),
    ),
]


def journal(number: int, text: str, user: str, **more: Any) -> dict[str, Any]:
    return {"id": number, "notes": text, "user": user, "private_notes": False, **more}


def with_notes() -> State:
    state = as_it_must_be()
    state["issues"][0]["journals"] = [
        journal(1, "Toner 700 ordered", "alice", private_notes=True),
        journal(2, "", "admin"),
        journal(3, "Done", "bob"),
    ]
    return state


NOTES_CHANGED: dict[str, tuple[Callable[[list[dict[str, Any]]], object], str]] = {
    "nothing": (lambda _: None, ""),
    "a lost note": (lambda notes: notes.pop(), "lost: ticket 7, issue #6 has no note of solution:700"),
    "a second note": (lambda notes: notes.append(journal(4, "Done", "bob")), "twice: ticket 7, issue #6"),
    "a note's author": (lambda notes: notes[2].update(user="admin"), "lost: ticket 7"),
    "a note that is public": (lambda notes: notes[0].update(private_notes=False), "note of followup:700"),
    "a note of nobody": (lambda notes: notes.append(journal(4, "?", "carol")), "one too many"),
}


@pytest.mark.parametrize("what", NOTES_CHANGED)
def test_it_reports_of_notes(what: str) -> None:
    change, words = NOTES_CHANGED[what]
    state = with_notes()
    change(state["issues"][0]["journals"])
    found = differences(state, NOTED)
    assert words in found if words else found == ""


def test_it_reports_a_note_that_comes_before_an_earlier_one_that_was_known() -> None:
    state = with_notes()
    first, _, second = state["issues"][0]["journals"]
    first["id"], second["id"] = 3, 1
    assert "order: ticket 7, issue #6 has the note of solution:700 before" in differences(state, NOTED)
    expected = expect(NOTED, "5.0")
    assert Oracle(expected, state, {}, put_off=[7]).differences() == []


def test_a_note_may_come_before_an_earlier_one_that_came_later() -> None:
    state = with_notes()
    first, _, second = state["issues"][0]["journals"]
    first["id"], second["id"] = 3, 1
    *others, (event, receipt), solved = NOTED
    late = replace(receipt, accepted=solved[1].first_try + timedelta(seconds=1))
    assert differences(state, [*others, (event, late), solved]) == ""


FILES = {70: b"a scan", 71: b"a list", 72: bytes(TOO_LARGE), 73: b""}
ATTACHED = [
    *TWO_TASKS,
    *accepted(
        document_event(2, of_ticket=named(7), of_document=document(70)),
        document_event(3, of_ticket=named(7), of_document=document(71, name="image001.png", user=BOB)),
        followup_event(4, of_ticket=named(7), of_followup=followup(700)),
    ),
]


def attachment(number: int, name: str, content: bytes, author: str = "alice") -> dict[str, Any]:
    return {
        "id": number,
        "issue_id": 6,
        "filename": name,
        "filesize": len(content),
        "digest": sha256(content).hexdigest(),
        "author": author,
    }


def attaching(number: int, attachment_id: int) -> dict[str, Any]:
    details = [{"property": "attachment", "name": str(attachment_id), "from": None, "to": "a file"}]
    return journal(number, "", "admin", details=details)


def with_files() -> State:
    state = as_it_must_be()
    state["attachments"] = [
        attachment(1, "scan-70.png", b"a scan"),
        attachment(3, "image001-71.png", b"a list", author="bob"),
        {**attachment(2, "scan-70.png", b"a scan"), "issue_id": None},  # the upload's answer was lost
    ]
    journals = [attaching(1, 1), attaching(2, 3), journal(3, "Toner 700 ordered", "alice")]
    state["issues"][0]["journals"] = journals
    return state


def differences_of_files(state: State, deliveries: Deliveries, **more: Any) -> str:
    return "\n".join(Oracle(expect(deliveries, "5.0", FILES), state, {}, **more).differences())


FILES_CHANGED: dict[str, tuple[Callable[[list[dict[str, Any]]], object], str]] = {
    "nothing": (lambda _: None, ""),
    "a lost document": (
        lambda files: files.pop(0),
        "lost: ticket 7, issue #6 has no attachment of document:70",
    ),
    "a document whose upload was not attached": (
        lambda files: files[0].update(issue_id=None),
        "lost: ticket 7, issue #6 has no attachment of document:70",
    ),
    "a doubled document": (
        lambda files: files[2].update(issue_id=6),
        "twice: ticket 7, issue #6 has attachment #2",
    ),
    "a document's author": (lambda files: files[1].update(author="admin"), "no attachment of document:71"),
    "a document's name": (lambda files: files[1].update(filename="image001.png"), "of document:71"),
    "a document's size": (lambda files: files[0].update(filesize=5), "no attachment of document:70"),
    "a document's content": (
        lambda files: files[0].update(digest=sha256(b"a list").hexdigest()),
        "no attachment of document:70",
    ),
    "a document of another issue": (
        lambda files: files[0].update(issue_id=1),
        "extra: attachment #1 ('scan-70.png' by alice) on no issue of a ticket",
    ),
    "a document of nobody": (
        lambda files: files.append(attachment(4, "scan-72.png", b"?")),
        "twice: ticket 7, issue #6 has attachment #4",
    ),
}


@pytest.mark.parametrize("what", FILES_CHANGED)
def test_it_reports_of_documents(what: str) -> None:
    change, words = FILES_CHANGED[what]
    state = with_files()
    change(state["attachments"])
    found = differences_of_files(state, ATTACHED)
    assert words in found if words else found == ""


def test_it_reports_a_document_that_comes_after_a_note_that_is_later() -> None:
    state = with_files()
    state["issues"][0]["journals"][0]["id"] = 4
    found = differences_of_files(state, ATTACHED)
    assert "has the note of followup:700 before the attachment of document:70" in found
    assert differences_of_files(state, ATTACHED, put_off=[7]) == ""


def test_of_a_document_with_two_events_either_may_be_the_one_that_counts() -> None:
    state = with_files()
    state["issues"][0]["journals"][0]["id"] = 4
    again = accepted(document_event(9, of_ticket=named(7), of_document=document(70)))
    assert differences_of_files(state, [*ATTACHED, *again]) == ""


NOT_SENT: dict[str, tuple[dict[str, Any], str]] = {
    "private": ({"is_private": True}, Reason.PRIVATE_DOCUMENT),
    "of a refused ending": ({"name": "setup.EXE"}, Reason.DOCUMENT_TYPE_REFUSED),
    "of a refused type": ({"mime_type": "video/mp4"}, Reason.DOCUMENT_TYPE_REFUSED),
    "known to be too large": ({"size": TOO_LARGE}, Reason.DOCUMENT_TOO_LARGE),
    "too large": ({"id": 72}, Reason.DOCUMENT_TOO_LARGE),
    "empty": ({"id": 73}, Reason.DOCUMENT_IS_EMPTY),
    "gone": ({"id": 74}, Reason.DOCUMENT_GONE),
}


@pytest.mark.parametrize("what", NOT_SENT)
def test_a_document_that_must_not_arrive_is_skipped_with_its_own_reason(what: str) -> None:
    changes, code = NOT_SENT[what]
    sent = document_event(2, of_ticket=named(7), of_document=document(**{"id": 70, **changes}))
    expected = expect([*TWO_TASKS, *accepted(sent)], "5.0", FILES)
    assert not expected[7].files

    def told(state: str, because: str) -> list[str]:
        return list(wrongly_ended(expected, {1: Ended(state, because)}, deleted=[]))

    assert told("skipped", code) == []
    assert told("skipped", Reason.DOCUMENTS_OFF)
    assert told("skipped", Reason.NO_ISSUE_FOR_NOTE)
    assert told("done", Reason.DOCUMENT_ATTACHED)
    assert told("superseded", Reason.NEWER_NOTE_EVENT)
    assert list(wrongly_ended(expected, {}, deleted=[]))


def test_what_is_fetched_for_an_issue_is_not_asked_for_without_one() -> None:
    gone = document_event(2, of_ticket=named(7), of_document=document(74))
    ended = {1: Ended("skipped", Reason.NO_ISSUE_FOR_NOTE)}
    without, deleted = (
        expect(accepted(gone), "5.0", FILES),
        expect([*TWO_TASKS, *accepted(gone)], "5.0", FILES),
    )
    assert list(wrongly_ended(without, ended, deleted=[])) == []
    assert list(wrongly_ended(deleted, ended, deleted=[7])) == []
    assert list(wrongly_ended(deleted, ended, deleted=[]))


def test_a_ticket_that_was_never_finished_has_no_issue() -> None:
    deliveries = accepted(ticket_event(0, of_ticket=named(7)))
    assert differences({"issues": [], "time_entries": []}, deliveries) == ""
    assert "twice" in differences({"issues": [issue(6, "Ticket 7")], "time_entries": []}, deliveries)


def test_an_unlinked_ticket_has_no_issue() -> None:
    deliveries = accepted(task_event(0, of_ticket=named(7, entity_id=99), of_task=task(70)))
    assert differences({"issues": [], "time_entries": []}, deliveries) == ""
    assert "no ticket" in differences({"issues": [issue(6, "Ticket 7")], "time_entries": []}, deliveries)


def test_time_may_be_any_done_snapshot_but_not_a_mixture_of_two() -> None:
    deliveries = accepted(
        task_event(0, of_ticket=named(7), of_task=task(70, actiontime=3600)),
        task_event(1, of_ticket=named(7), of_task=task(70, actiontime=1800, user=BOB)),
    )
    for hours, author, is_right in ((1.0, "alice", True), (0.5, "bob", True), (0.5, "alice", False)):
        found = [entry(1, 6, "Extinguished 70", hours, author)]
        told = differences({"issues": [issue(6, "Ticket 7")], "time_entries": found}, deliveries)
        assert (told == "") == is_right, told


def test_of_two_equal_tasks_the_one_that_is_surely_due_is_given_the_entry_first() -> None:
    """The other task is not Done in the end, so it may have no entry; it comes first in the help desk's events."""
    deliveries = accepted(
        task_event(0, of_ticket=named(7), of_task=task(71, content=None)),
        task_event(1, of_ticket=named(7), of_task=task(70, content=None)),
        task_event(2, of_ticket=named(7), of_task=task(71, content=None, state=1)),
    )
    found = [entry(1, 6, "Work on helpdesk ticket #7")]
    assert differences({"issues": [issue(6, "Ticket 7")], "time_entries": found}, deliveries) == ""
    assert "lost: ticket task 70" in differences(
        {"issues": [issue(6, "Ticket 7")], "time_entries": []}, deliveries
    )


SIBLINGS = accepted(
    task_event(0, of_ticket=ticket(1, title="Same"), of_task=task(10)),
    task_event(1, of_ticket=ticket(2, title="Same", status=5), of_task=task(20)),
)
TOGETHER: State = {
    "issues": [issue(6, "Same", status=3), issue(7, "Same")],
    "time_entries": [entry(1, 7, "Extinguished 10"), entry(2, 6, "Extinguished 20")],
}


def test_issues_of_equal_text_may_be_either_tickets_but_not_half_of_each() -> None:
    assert differences(TOGETHER, SIBLINGS) == ""
    mixed = deepcopy(TOGETHER)
    mixed["time_entries"][0]["issue_id"] = 6
    assert "lost: ticket task" in differences(mixed, SIBLINGS)
    one = {**TOGETHER, "issues": TOGETHER["issues"][:1]}
    assert "lost: 'Same' (tickets 1, 2) has 1 issues" in differences(one, SIBLINGS)


@pytest.mark.parametrize(("seconds", "statuses"), [(1.0, {3}), (90.0, {2, 3})])
def test_of_two_events_from_the_future_the_one_that_came_last_is_newest(
    seconds: float, statuses: set[int]
) -> None:
    """If each was repeated until the other had arrived too, either may be the newest."""
    ahead = [ticket_event(0, of_ticket=named(7, status=status)) for status in (2, 5)]
    for event in ahead:
        event["occurred_at"] = FUTURE
    assert expect(accepted(*ahead, seconds=seconds), "5.0")[7].statuses == statuses


def test_the_newest_event_decides_and_its_sequence_where_two_occurred_at_once() -> None:
    statuses = {10: 1, 12: 5, 11: 6}
    events = [
        ticket_event(3, of_ticket=named(7, status=status), sequence=number)
        for number, status in statuses.items()
    ]
    assert expect(accepted(*events), "5.0")[7].statuses == {3}


def test_an_issue_that_was_deleted_may_stay_away_but_not_come_back_twice() -> None:
    state: State = {"issues": [], "time_entries": []}
    assert differences(state, TWO_TASKS, {7: 6}) == ""
    again: State = {"issues": [issue(8, "Ticket 7"), issue(9, "Ticket 7")], "time_entries": []}
    assert "twice: ticket 7" in differences(again, TWO_TASKS, {7: 6})


def test_an_issue_that_was_moved_is_in_any_project_with_everything_else_as_it_must_be() -> None:
    state = as_it_must_be()
    state["issues"][0]["project"] = "other"
    assert "expected one of" in differences(state, TWO_TASKS)
    assert Oracle(expect(TWO_TASKS, "5.0"), state, {}, {7}).differences() == []
    state["time_entries"][0]["author"] = "admin"
    assert "lost: ticket task 70" in "".join(Oracle(expect(TWO_TASKS, "5.0"), state, {}, {7}).differences())


HELD = OnHold("ticket", 7, 7, "on_hold", "in doubt", tracker_ids=(12,))


@pytest.mark.parametrize(
    ("item", "is_right"),
    [
        (OnHold("ticket", 7, 7, "on_hold", "still unclear after 5 lookups; the last result"), False),
        (OnHold("ticket", 7, 7, "on_hold", "possibly created twice", (12, 13), duplicate=True), False),
        (HELD, True),
        (OnHold("ticket", 7, 7, "on_hold", "in doubt", tracker_ids=(13,)), False),
        (OnHold("ticket", 7, 7, "gone", "no longer exists", (12,)), False),
        (OnHold("ticket", 5, 5, "gone", "no longer exists", (11,)), True),
        (OnHold("event", 1, 7, "failed", "the tracker refused"), False),
    ],
)
def test_a_person_is_needed_by_rule_only(item: OnHold, is_right: bool) -> None:
    (judged,) = judge([item], {5: 11}, {"ticket": {12}})
    assert (judged.rule is not None) == is_right


def test_an_event_is_held_rightly_where_its_tickets_row_is() -> None:
    event = OnHold("event", 1, 7, "on_hold", "ticket 7 waits for a person")
    assert judge([event, HELD], {}, {"ticket": {12}})[0].rule
    assert not judge([event], {}, {})[0].rule


@pytest.mark.parametrize(
    ("seconds", "decimals", "minutes"),
    [
        (29, 0.01, 0.0),
        (30, 0.01, 0.02),
        (1234, 0.34, 0.35),
        (5429, 1.51, 1.5),
        (5430, 1.51, 1.52),
        (5460, 1.52, 1.52),
    ],
)
def test_hours_are_expected_as_the_version_of_the_tracker_lists_them(
    seconds: int, decimals: float, minutes: float
) -> None:
    listed = {redmine: hours_listed(seconds, redmine) for redmine in ("5.0", "6.0", "6.1")}
    assert listed == {"5.0": decimals, "6.0": minutes, "6.1": minutes}
    deliveries = accepted(task_event(0, of_ticket=named(7), of_task=task(70, actiontime=seconds)))
    for redmine, hours in listed.items():
        state: State = {
            "issues": [issue(6, "Ticket 7")],
            "time_entries": [entry(1, 6, "Extinguished 70", hours)],
        }
        assert differences(state, deliveries, redmine=redmine) == ""
        state["time_entries"][0]["hours"] = round(hours + 0.01, 2)
        assert "lost: ticket task 70" in differences(state, deliveries, redmine=redmine)


@given(st.lists(st.sets(st.integers(0, 4)), max_size=5), st.integers(0, 5))
def test_as_many_as_possible_are_paired(wanted: list[set[int]], size: int) -> None:
    pairs, missing, left = pair(range(len(wanted)), range(size), lambda index, one: one in wanted[index])
    assert all(one in wanted[index] for index, one in pairs.items())
    assert sorted([*pairs, *missing]) == list(range(len(wanted)))
    assert sorted([*pairs.values(), *left]) == list(range(size))
    choices = product(*([*(one for one in own if one < size), None] for own in wanted))
    distinct = ([one for one in chosen if one is not None] for chosen in choices)
    assert len(pairs) == max(len(chosen) for chosen in distinct if len(set(chosen)) == len(chosen))
