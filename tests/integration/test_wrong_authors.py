"""An author in another person's place is always reported: in the event's code, in a list, and by the doctor."""

from __future__ import annotations

import time
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.people.misattributed import misattributed
from shared.notices.authors import Misattribution
from shared.notices.faults import Fault
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.reasons import Matching, Reason
from shared.notices.render import sentence
from shared.store.configuration.metadata import Entry, MetadataKind
from tests.support.bridge import Bridge
from tests.support.crashes import WorkerDied, die
from tests.support.events import ALICE, BOB, followup_event, solution_event, task, task_event, ticket
from tests.support.ledger import entries, let_leases_run_out, ours, row, until_settled
from worker.ticket.notes import FollowupCreation, SolutionCreation
from worker.ticket.requests import TimeEntryCreation
from worker.ticket.sync import Forwarding

STRANGER = {"id": 99, "email": "nobody@example.test"}


def ended(bridge: Bridge, event: dict[str, Any]) -> str:
    (event_id,) = bridge.receive(event)
    bridge.sync()
    until_settled(bridge)
    notice = bridge.event(event_id).notice
    assert notice
    return notice.code


def let_the_pause_be_over(bridge: Bridge, reason: Notice) -> None:
    bridge.breaker.end()
    bridge.breaker.begin(reason, 0)


def listed(bridge: Bridge) -> list[tuple[Kind, int, str]]:
    return [(Kind(one.kind), one.key, str(one.notice.code)) for one in misattributed(bridge.store)]


def test_nothing_is_listed_while_everybody_is_who_they_are(bridge: Bridge) -> None:
    assert ended(bridge, task_event()) == Reason.TIME_LOGGED
    assert listed(bridge) == []


def test_hours_of_somebody_whom_the_tracker_does_not_know_are_listed_with_what_would_fix_it(
    bridge: Bridge,
) -> None:
    (event_id,) = bridge.receive(task_event(of_task=task(user=STRANGER)))
    bridge.sync()
    because = Misattribution.NOT_MATCHED(match=Matching.EMAIL_UNKNOWN(helpdesk_user_id=99))
    found = bridge.event(event_id).notice
    assert found == Reason.TIME_LOGGED_AS_ANOTHER(time_entry_id=1, issue_id=6, because=because)
    (wrong,) = misattributed(bridge.store)
    assert (wrong.kind, wrong.key, wrong.tracker_id, wrong.author_id) == (Kind.TICKET_TASK, 512, 1, 1)
    assert "user map" in wrong.todo


def test_what_names_nobody_is_listed_as_sent_in_the_administrators_name(bridge: Bridge) -> None:
    event = task_event(of_ticket=ticket(technician=None), of_task=task(user=None))
    assert ended(bridge, event) == Reason.TIME_LOGGED_AS_ANOTHER
    assert listed(bridge) == [
        (Kind.TICKET_TASK, 512, Misattribution.NOBODY_NAMED),
        (Kind.TICKET, 4711, Misattribution.NOBODY_NAMED),
    ]
    assert all("GLPI" in one.todo for one in misattributed(bridge.store))


def test_somebody_who_is_refused_is_listed_for_issue_and_hours(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.patch("users", 5, status=3)
    assert ended(bridge, task_event()) == Reason.TIME_LOGGED_AS_ANOTHER
    assert listed(bridge) == [
        (Kind.TICKET_TASK, 512, Misattribution.NOT_MATCHED),
        (Kind.TICKET, 4711, Misattribution.PERSON_NOT_ACTIVE),
    ]


def test_an_event_says_that_its_new_issue_has_another_author(bridge: Bridge) -> None:
    event = task_event(of_ticket=ticket(technician=STRANGER))
    assert ended(bridge, event) == Reason.TIME_LOGGED_AS_ANOTHER
    assert listed(bridge) == [(Kind.TICKET, 4711, Misattribution.NOT_MATCHED)]


def test_an_event_tells_a_wrong_author_of_the_issue_from_one_of_the_time_entry(bridge: Bridge) -> None:
    first, second = bridge.receive(
        task_event(of_ticket=ticket(technician=None)),
        task_event(1, of_ticket=ticket(technician=None), of_task=task(513, user=STRANGER)),
    )
    bridge.sync()
    until_settled(bridge)
    nobody = "sent as the API user, because GLPI names no technician"
    of_the_issue, both = (sentence(notice) for one in (first, second) if (notice := bridge.event(one).notice))
    assert of_the_issue == f"time entry #1 on issue #6; the issue has a wrong author: {nobody}"
    assert both.startswith("time entry #2 on issue #6, with a wrong author: sent as the API user: ")
    assert both.endswith(f"; the issue has a wrong author: {nobody}")


def test_a_key_that_lost_its_rights_pauses_everything_as_a_refused_one_does(
    bridge: Bridge, stand_in: StandIn
) -> None:
    stand_in.patch("users", 1, admin=False, status=1)
    first, second = bridge.receive(task_event(), task_event(1, of_task=task(513)))
    bridge.sync()
    paused = bridge.breaker.current()
    assert paused
    assert paused.reason.code == Fault.TRACKER_CLOSED
    made = len(ours(stand_in)) + len(entries(stand_in))
    assert made <= 1, "nothing else is sent in the wrong name"
    for _ in range(3):
        let_the_pause_be_over(bridge, paused.reason)
        bridge.hurry()
        bridge.sync()
    assert len(ours(stand_in)) + len(entries(stand_in)) == made, "a probe asks first"
    stand_in.patch("users", 1, admin=True)
    let_the_pause_be_over(bridge, paused.reason)
    until_settled(bridge)
    assert {bridge.event(one).state for one in (first, second)} == {"done"}
    assert [one["user_id"] for one in entries(stand_in)] == [5, 5]


def test_what_was_found_after_a_lost_answer_in_another_name_is_listed(
    bridge: Bridge, stand_in: StandIn
) -> None:
    stand_in.fault("reset_after", method="POST", path="/time_entries.json", count=1)
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    stand_in.patch("time_entries", 1, user_id=1)
    until_settled(bridge)
    assert row(bridge, Kind.TICKET_TASK, 512).adopted
    assert listed(bridge) == [(Kind.TICKET_TASK, 512, Misattribution.FOUND_AS_ANOTHERS)]
    notice = bridge.event(event_id).notice
    assert notice
    assert notice.code == Reason.TIME_LOGGED_AS_ANOTHER


def reason_of(bridge: Bridge, event_id: int) -> Notice:
    notice = bridge.event(event_id).notice
    assert notice
    return notice


def test_an_issue_of_a_locked_technician_is_told_although_the_settings_are_read_again(
    bridge: Bridge, stand_in: StandIn
) -> None:
    """The refusal reads the users again, which is a change of the settings: the time entry comes in another pass."""
    stand_in.patch("users", 6, status=3)
    first, second = bridge.receive(
        task_event(of_ticket=ticket(technician=BOB)),
        task_event(1, of_ticket=ticket(technician=BOB), of_task=task(513)),
    )
    until_settled(bridge)
    for event_id in (first, second):
        reason = reason_of(bridge, event_id)
        assert reason.code == Reason.TIME_LOGGED_AS_ANOTHER, bridge.steps()
        assert "because" not in reason.params
        assert reason.params["of_issue"].code == Misattribution.PERSON_NOT_ACTIVE


@pytest.mark.parametrize(
    "killed_in", [(TimeEntryCreation, "of"), (Forwarding, "_add_to")], ids=["before", "after"]
)
def test_an_issue_with_a_wrong_author_is_told_if_the_worker_is_killed_around_its_link(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch, killed_in: tuple[Any, str]
) -> None:
    (event_id,) = bridge.receive(task_event(of_ticket=ticket(technician=STRANGER)))
    with monkeypatch.context() as patched:
        patched.setattr(*killed_in, die)
        with pytest.raises(WorkerDied):
            bridge.sync()
    let_leases_run_out(bridge)
    until_settled(bridge)
    reason = reason_of(bridge, event_id)
    assert reason.code == Reason.TIME_LOGGED_AS_ANOTHER, bridge.steps()
    assert reason.params["of_issue"].code == Misattribution.NOT_MATCHED


@pytest.mark.parametrize(
    ("fault", "status"), [("status_before", 401), ("status_before", 503), ("reset_after", None)]
)
def test_an_issue_with_a_wrong_author_is_told_if_its_time_entry_comes_in_a_later_pass(
    bridge: Bridge, stand_in: StandIn, fault: str, status: int | None
) -> None:
    (event_id,) = bridge.receive(task_event(of_ticket=ticket(technician=STRANGER)))
    of_fault = {"status": status} if status else {}
    stand_in.fault(fault, method="POST", path="/time_entries.json", count=1, **of_fault)
    bridge.sync()
    assert len(ours(stand_in)) == 1
    bridge.redis.flushdb()
    until_settled(bridge)
    reason = reason_of(bridge, event_id)
    assert reason.code == Reason.TIME_LOGGED_AS_ANOTHER, bridge.steps()
    assert reason.params["of_issue"].code == Misattribution.NOT_MATCHED


def test_a_newer_event_tells_of_the_issue_if_it_replaces_the_one_that_created_it(
    bridge: Bridge, stand_in: StandIn
) -> None:
    bridge.receive(task_event(of_ticket=ticket(technician=STRANGER)))
    stand_in.fault("status_before", method="POST", path="/time_entries.json", status=401, count=1)
    bridge.sync()
    (newer,) = bridge.receive(task_event(1, of_ticket=ticket(technician=STRANGER)))
    bridge.redis.flushdb()
    until_settled(bridge)
    assert reason_of(bridge, newer).code == Reason.TIME_LOGGED_AS_ANOTHER, bridge.steps()


def test_later_work_on_an_issue_with_a_wrong_author_is_not_called_wrong(bridge: Bridge) -> None:
    assert ended(bridge, task_event(of_ticket=ticket(technician=STRANGER))) == Reason.TIME_LOGGED_AS_ANOTHER
    assert ended(bridge, task_event(1, of_task=task(513))) == Reason.TIME_LOGGED


def test_an_issue_that_was_found_after_a_lost_answer_in_another_name_is_told(
    bridge: Bridge, stand_in: StandIn
) -> None:
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    (event_id,) = bridge.receive(task_event())
    bridge.sync()
    stand_in.patch("issues", 6, author_id=1)
    until_settled(bridge)
    assert row(bridge, Kind.TICKET, 4711).adopted
    reason = reason_of(bridge, event_id)
    assert reason.code == Reason.TIME_LOGGED_AS_ANOTHER
    assert reason.params["of_issue"].code == Misattribution.FOUND_AS_ANOTHERS


def test_hours_that_were_found_in_another_name_are_told_even_if_the_worker_is_killed_then(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.fault("reset_after", method="POST", path="/time_entries.json", count=1)
    (event_id,) = bridge.receive(task_event(of_ticket=ticket(technician=STRANGER)))
    bridge.sync()
    stand_in.patch("time_entries", 1, user_id=1)
    bridge.hurry()
    with monkeypatch.context() as patched:
        patched.setattr("worker.ticket.sync.logged", lambda *_, **__: die())
        with pytest.raises(WorkerDied):
            bridge.sync()
    assert row(bridge, Kind.TICKET_TASK, 512).adopted
    bridge.redis.flushdb()
    until_settled(bridge)
    reason = reason_of(bridge, event_id)
    assert reason.code == Reason.TIME_LOGGED_AS_ANOTHER, bridge.steps()
    assert reason.params["because"].code == Misattribution.FOUND_AS_ANOTHERS
    assert reason.params["of_issue"].code == Misattribution.NOT_MATCHED


@pytest.mark.parametrize("is_killed", [False, True])
@pytest.mark.parametrize(
    ("event", "code"),
    [
        (followup_event(1), Reason.NOTE_SENT_AS_ANOTHER),
        (solution_event(1), Reason.NOTE_SENT_AS_ANOTHER),
    ],
    ids=["followup", "solution"],
)
def test_a_note_that_was_found_in_another_name_is_told(
    bridge: Bridge,
    stand_in: StandIn,
    monkeypatch: pytest.MonkeyPatch,
    event: dict[str, Any],
    code: Reason,
    is_killed: bool,
) -> None:
    bridge.configure(sync_followups="all", sync_solutions="on")
    bridge.forward(task_event())
    stand_in.fault("reset_after", method="PUT", path="/issues/6.json", count=1)
    (event_id,) = bridge.receive(event)
    bridge.sync()
    (issue,) = ours(stand_in)
    (text,) = (one["notes"] for one in issue["journals"] if one["notes"])
    as_admin = {"id": 900, "user_id": 1, "notes": text, "private_notes": False}
    stand_in.patch("issues", 6, journals=[{**as_admin, "created_on": time.time(), "details": []}])
    bridge.hurry()
    if is_killed:
        with monkeypatch.context() as patched:
            patched.setattr(FollowupCreation, "sent", die)
            patched.setattr(SolutionCreation, "sent", die)
            with pytest.raises(WorkerDied):
                bridge.sync()
        bridge.redis.flushdb()
    until_settled(bridge)
    reason = reason_of(bridge, event_id)
    assert reason.code == code, bridge.steps()
    assert reason.params["because"].code == Misattribution.FOUND_AS_ANOTHERS
    assert listed(bridge) == [], "an author of a note cannot be corrected"


@pytest.mark.parametrize("known", [True, False])
def test_a_role_that_is_gone_is_noticed_before_the_administrator_steps_in(
    bridge: Bridge, stand_in: StandIn, known: bool
) -> None:
    bridge.configure(default_role_id=77)
    if known:
        with bridge.store.transaction() as tx:
            tx.metadata.put(
                [Entry(MetadataKind.ROLE, 77, "Helper"), Entry(MetadataKind.ROLE, 4, "Developer")]
            )
    carol = {"id": 70, "email": "carol@example.test"}
    for number in range(3):
        event = task_event(
            number, of_ticket=ticket(number + 1, technician=carol), of_task=task(number + 1, user=ALICE)
        )
        assert bridge.forward(event, ticket_id=number + 1) == ["done"]
    with bridge.store.transaction() as tx:
        assert tx.metadata.get(MetadataKind.ROLE, 77) is None
        assert tx.metadata.get(MetadataKind.ROLE, 4)
    read = [one for one in stand_in.requests() if one["path"] == "/roles.json"]
    assert len(read) == 1, "once; then the cache explains it"
