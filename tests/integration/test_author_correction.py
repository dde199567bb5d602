"""Hours logged in the wrong person's name are given to the right one if a person requests it."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.people.correction import NotCorrected, correct_author
from producer.admin.people.misattributed import misattributed
from shared.errors import NotFound, OutcomeUnknown
from shared.notices.faults import Fault
from shared.notices.kinds import Kind
from shared.notices.refusals import Refusal
from shared.tracker.answers import Answer
from shared.tracker.client import TrackerClient
from tests.support.bridge import Bridge
from tests.support.events import task, task_event
from tests.support.ledger import entries, row
from tests.support.refusals import says

STRANGER_ID = 99
STRANGER = {"id": STRANGER_ID, "email": "nobody@example.test"}


@pytest.fixture
def strangers_hours(bridge: Bridge) -> Bridge:
    """A bridge that may correct authors, with hours of a person who is unknown to the tracker."""
    bridge.configure(correct_authors=True)
    assert bridge.forward(task_event(of_task=task(user=STRANGER))) == ["done"]
    return bridge


def is_meant(bridge: Bridge, tracker_user_id: int) -> None:
    with bridge.store.transaction() as tx:
        tx.people.put_override(STRANGER_ID, tracker_user_id)


def correct(bridge: Bridge) -> str:
    with bridge.store.transaction() as tx:
        connected = bridge.service.connect(tx)
    return correct_author(bridge.store, lambda: connected, 512).login


def test_they_are_theirs_on_the_tracker_and_off_the_list(strangers_hours: Bridge, stand_in: StandIn) -> None:
    is_meant(strangers_hours, 5)
    assert correct(strangers_hours) == "alice"
    assert [one["user_id"] for one in entries(stand_in)] == [5]
    assert misattributed(strangers_hours.store) == []
    assert row(strangers_hours, Kind.TICKET_TASK, 512).author_id == 5
    assert strangers_hours.steps()[-1].startswith("Time entry #1 was assigned to alice")


def test_it_can_be_asked_for_again(strangers_hours: Bridge, stand_in: StandIn) -> None:
    is_meant(strangers_hours, 5)
    assert [correct(strangers_hours), correct(strangers_hours)] == ["alice", "alice"]
    assert [one["user_id"] for one in entries(stand_in)] == [5]


def test_as_long_as_nobody_is_known_it_is_said_what_to_do(strangers_hours: Bridge, stand_in: StandIn) -> None:
    with pytest.raises(NotCorrected, check=says(Refusal.HOURS_OF_SOMEBODY_UNKNOWN, helpdesk_user_id=99)):
        correct(strangers_hours)
    assert [one["user_id"] for one in entries(stand_in)] == [1]


def test_somebody_who_is_no_member_is_refused_with_the_reason(strangers_hours: Bridge) -> None:
    is_meant(strangers_hours, 7)
    of_tracker = Fault.TRACKER_REJECTED(status=422, errors=["User is invalid"])
    with pytest.raises(NotCorrected, check=says(Refusal.AUTHOR_REFUSED, of_tracker, login="carol")):
        correct(strangers_hours)
    assert len(misattributed(strangers_hours.store)) == 1


def test_an_answer_that_changed_nothing_is_not_believed(
    strangers_hours: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tracker answers 204 even to a change that it ignores."""
    is_meant(strangers_hours, 5)
    call = TrackerClient.call

    def ignored(self: TrackerClient, method: str, path: str, **options: Any) -> Answer:
        return Answer(204, None, None) if method == "PUT" else call(self, method, path, **options)

    monkeypatch.setattr(TrackerClient, "call", ignored)
    with pytest.raises(NotCorrected, check=says(Refusal.AUTHOR_IGNORED, time_entry_id=1, login="alice")):
        correct(strangers_hours)
    assert len(misattributed(strangers_hours.store)) == 1


def test_without_a_clear_answer_nothing_is_claimed(strangers_hours: Bridge, stand_in: StandIn) -> None:
    is_meant(strangers_hours, 5)
    stand_in.fault("reset_after", method="PUT", path="/time_entries/1.json", count=1)
    with pytest.raises(OutcomeUnknown):
        correct(strangers_hours)
    assert len(misattributed(strangers_hours.store)) == 1
    assert correct(strangers_hours) == "alice"


def test_a_ticket_task_without_a_time_entry_is_named(bridge: Bridge) -> None:
    bridge.configure(correct_authors=True)
    with pytest.raises(NotFound, check=says(Refusal.TIME_ENTRY_UNKNOWN, task_id=512)):
        correct(bridge)


def test_another_time_entry_with_the_number_keeps_its_author(
    strangers_hours: Bridge, stand_in: StandIn
) -> None:
    is_meant(strangers_hours, 5)
    stand_in.patch("time_entries", 1, created_on=1.0, user_id=6)
    refusal = says(Refusal.ENTRY_IS_ANOTHER, time_entry_id=1, issue_id=6)
    with pytest.raises(NotCorrected, check=refusal):
        correct(strangers_hours)
    assert [one["user_id"] for one in entries(stand_in)] == [6]
