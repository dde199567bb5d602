"""If the tracker changes between two calls, no private text becomes public, and no old note is linked."""

from __future__ import annotations

import time

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.review.held import decide
from shared.notices.kinds import Kind
from shared.store.configuration.matching import TrackerPerson
from shared.store.tables.journal import EventState
from tests.support.bridge import PEOPLE, Bridge
from tests.support.events import ALICE, followup, followup_event, task_event
from tests.support.ledger import notes_of, stopped, until_settled

ISSUE = "/issues/6.json"
MANAGER, DEVELOPER = 3, 4
PUBLIC_PROJECT = 2
PRIVATE = followup_event(1, of_followup=followup(is_private=True, user={**ALICE, "name": "Alice Archer"}))
TAKES_PART = ["view_issues", "add_issue_notes", "edit_issues", "log_time", "add_issues"]


@pytest.fixture
def begun(bridge: Bridge, stand_in: StandIn) -> Bridge:
    """A bridge that sends all notes, whose ticket has its issue; developers may not write private notes."""
    bridge.configure(sync_followups="all", sync_solutions="on")
    stand_in.patch("roles", DEVELOPER, permissions=TAKES_PART)
    assert bridge.forward(task_event()) == [EventState.DONE]
    return bridge


def in_support(stand_in: StandIn, project_id: int = 1) -> int:
    """Return the id of alice's membership."""
    (found,) = [
        one["id"]
        for one in stand_in.state()["memberships"]
        if (one["project_id"], one["user_id"]) == (project_id, 5)
    ]
    return int(found)


def test_a_private_note_stays_private_if_its_issue_has_moved_to_where_the_person_may_not(
    begun: Bridge, stand_in: StandIn
) -> None:
    stand_in.patch("memberships", in_support(stand_in), role_ids=[MANAGER])
    stand_in.patch("issues", 6, project_id=PUBLIC_PROJECT)
    assert begun.forward(PRIVATE) == [EventState.DONE]
    assert [is_private for _, _, is_private in notes_of(stand_in)] == [True], begun.steps()


def test_a_private_note_stays_private_if_the_person_loses_their_membership_in_between(
    begun: Bridge, stand_in: StandIn
) -> None:
    """They would become a member again, with a role that may not write private notes."""
    number = in_support(stand_in)
    stand_in.patch("memberships", number, role_ids=[MANAGER])
    begun.receive(PRIVATE)
    with stopped("PUT", ISSUE, lambda: stand_in.remove("memberships", number), sent=False):
        begun.sync()
    assert [is_private for _, _, is_private in notes_of(stand_in)] == [True], begun.steps()


def test_a_private_note_stays_private_right_after_a_role_has_lost_the_right(
    begun: Bridge, stand_in: StandIn
) -> None:
    """A role's permissions are otherwise cached for a minute."""
    stand_in.patch("memberships", in_support(stand_in), role_ids=[MANAGER])
    assert begun.forward(PRIVATE) == [EventState.DONE]
    stand_in.patch("roles", MANAGER, permissions=TAKES_PART)
    assert begun.forward(followup_event(2, of_followup=followup(78, is_private=True))) == [EventState.DONE]
    assert [who for who, _, _ in notes_of(stand_in)] == ["alice", "admin"]
    assert [is_private for _, _, is_private in notes_of(stand_in)] == [True, True], begun.steps()


def test_a_note_that_redmine_leaves_out_is_not_taken_for_an_old_one_of_its_text(
    begun: Bridge, stand_in: StandIn
) -> None:
    old = {
        "id": 900,
        "user_id": 5,
        "notes": "Toner 77 ordered",
        "private_notes": False,
        "created_on": 1_700_000_000.0,
        "details": [],
    }
    stand_in.patch("issues", 6, journals=[old])
    stand_in.patch("roles", DEVELOPER, permissions=["view_issues", "edit_issues", "log_time"])
    assert begun.forward(followup_event(1)) == [EventState.DONE]
    assert len(notes_of(stand_in)) == 2, begun.steps()


@pytest.mark.parametrize("number", [1, 5], ids=["the API user", "the person"])
def test_a_note_whose_text_redmine_has_changed_is_recognised(
    begun: Bridge, stand_in: StandIn, number: int
) -> None:
    """A plug-in of Redmine may do this: it is the only recent note of its author."""
    user = ALICE if number == 5 else {"id": 99, "email": "stranger@example.test"}
    changed = {
        "id": 900,
        "user_id": number,
        "notes": "changed",
        "private_notes": False,
        "created_on": time.time(),
        "details": [],
    }
    (event_id,) = begun.receive(followup_event(1, of_followup=followup(user=user)))
    with stopped("PUT", ISSUE, lambda: stand_in.patch("issues", 6, journals=[changed])):
        begun.sync()
    assert begun.event(event_id).state == EventState.DONE, begun.steps()
    assert len(notes_of(stand_in)) == 1


@pytest.mark.parametrize("date_header", [True, False])
def test_a_note_is_recognised_whatever_the_clock_of_redmine_says(
    begun: Bridge, stand_in: StandIn, date_header: bool
) -> None:
    stand_in.settings(clock_offset=-7200, date_header=date_header)
    assert begun.forward(followup_event(1)) == [EventState.DONE]
    assert [who for who, _, _ in notes_of(stand_in)] == ["alice"], begun.steps()


@pytest.mark.parametrize("user", [ALICE, {"id": 99, "email": "stranger@example.test"}])
def test_a_note_of_an_api_user_who_is_not_known_yet_is_neither_repeated_nor_lost(
    begun: Bridge, stand_in: StandIn, user: dict[str, object]
) -> None:
    """The key belongs to a new administrator, and the users of Redmine were read before."""
    known = [TrackerPerson(2, "root", "Old Admin", "root@example.net", admin=True), PEOPLE[1]]
    with begun.store.transaction() as tx:
        tx.people.replace_cache(known)
    stand_in.patch("roles", DEVELOPER, permissions=["view_issues", "edit_issues", "log_time"])
    (event_id,) = begun.receive(followup_event(1, of_followup=followup(user=user)))
    begun.sync()
    until_settled(begun)
    assert len(notes_of(stand_in)) == 1, begun.steps()
    assert begun.event(event_id).state == EventState.ON_HOLD, begun.steps()
    decide(begun.store, Kind.FOLLOWUP, 77, notes_id(stand_in))
    begun.sync()
    assert begun.event(event_id).state == EventState.DONE
    assert len(notes_of(stand_in)) == 1


def notes_id(stand_in: StandIn) -> int:
    """Return the id of the only note."""
    (found,) = [
        one["id"] for issue in stand_in.state()["issues"] for one in issue["journals"] if one["notes"]
    ]
    return int(found)
