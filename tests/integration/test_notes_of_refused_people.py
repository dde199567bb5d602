"""Notes of people whom the tracker refuses: the API user sends them with the name, and no one becomes a member."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.notices.kinds import Kind
from shared.notices.reasons import Reason
from shared.store.tables.journal import EventState
from shared.templating.operations import Operation
from shared.tracker.answers import Answer
from tests.integration.test_notes import notes
from tests.integration.test_templates import activate
from tests.support.bridge import Bridge
from tests.support.calls import Call, around_calls
from tests.support.events import ALICE, BOB, followup, followup_event, solution_event, task_event, ticket
from tests.support.ledger import notes_of, row, until_settled

CAROL = {"id": 9, "email": "carol@example.test", "name": "Carol Clark"}
"""A Redmine user who is a member of no project."""
ON_TRACKER = 5
"""Alice's id in Redmine."""
PUBLIC_PROJECT = 2
DEVELOPER = 4
DONE = EventState.DONE


@pytest.fixture
def begun(bridge: Bridge) -> Bridge:
    """A bridge that sends all notes, with a ticket that has its issue."""
    bridge.configure(sync_followups="all", sync_solutions="on")
    assert bridge.forward(task_event()) == [DONE]
    return bridge


@pytest.mark.promise("SEC-55")
@pytest.mark.parametrize("is_private", [False, True], ids=["public", "private"])
@pytest.mark.parametrize("event", ["followup", "solution"])
def test_a_note_makes_nobody_a_member(begun: Bridge, stand_in: StandIn, event: str, is_private: bool) -> None:
    begun.configure(membership_for="matched")
    members = stand_in.state()["memberships"]
    if event == "followup":
        asking = followup_event(1, of_followup=followup(user=CAROL, is_private=is_private))
    else:
        asking = solution_event(1, of_solution={"id": 77, "content": "Toner 77 ordered", "user": CAROL})
    assert begun.forward(asking) == [DONE]
    assert stand_in.state()["memberships"] == members, begun.steps()
    assert [who for who, _ in notes(stand_in)] == ["admin"]
    because = begun.event(2).notice.params["because"]  # type: ignore[union-attr]
    assert because.code == (
        "author_not_private" if is_private and event == "followup" else "author_not_member"
    )


@pytest.mark.promise("SEC-55")
def test_a_note_of_a_former_member_does_not_make_them_a_member_again(
    begun: Bridge, stand_in: StandIn
) -> None:
    for one in stand_in.state()["memberships"]:
        if one["user_id"] == ON_TRACKER:
            stand_in.remove("memberships", one["id"])
    members = stand_in.state()["memberships"]
    assert begun.forward(followup_event(1)) == [DONE]
    assert stand_in.state()["memberships"] == members, begun.steps()
    assert [who for who, _ in notes(stand_in)] == ["admin"]


@pytest.mark.promise("SEC-55")
def test_a_note_on_a_public_project_is_its_persons_without_a_membership(
    begun: Bridge, stand_in: StandIn
) -> None:
    stand_in.patch("issues", 6, project_id=PUBLIC_PROJECT)
    members = stand_in.state()["memberships"]
    assert begun.forward(followup_event(1, of_followup=followup(user=CAROL))) == [DONE]
    assert stand_in.state()["memberships"] == members
    assert notes(stand_in) == [("carol", "Toner 77 ordered")]


NAMED = {**ALICE, "name": "Alice Archer"}
WITH_NAME = "Alice Archer:\n\nToner 77 ordered"


def lock(stand_in: StandIn) -> None:
    stand_in.patch("users", ON_TRACKER, status=3)


def drop_notes(stand_in: StandIn) -> None:
    """Let Redmine answer 204 and leave the note out."""
    stand_in.patch("roles", DEVELOPER, permissions=["view_issues", "edit_issues", "log_time"])


def refuse_notes(stand_in: StandIn) -> None:
    stand_in.patch("roles", DEVELOPER, permissions=["view_issues", "log_time"])


def leave(stand_in: StandIn) -> None:
    for one in stand_in.state()["memberships"]:
        if one["user_id"] == ON_TRACKER:
            stand_in.remove("memberships", one["id"])


@pytest.mark.promise("SEC-55")
@pytest.mark.parametrize("refuse", [lock, drop_notes, refuse_notes, leave])
@pytest.mark.parametrize("is_private", [False, True], ids=["public", "private"])
def test_a_person_whom_redmine_refuses_is_named_in_the_note(
    begun: Bridge, stand_in: StandIn, refuse: Callable[[StandIn], None], is_private: bool
) -> None:
    refuse(stand_in)
    asking = followup_event(1, of_followup=followup(user=NAMED, is_private=is_private))
    assert begun.forward(asking) == [DONE]
    assert notes_of(stand_in) == [("admin", WITH_NAME, is_private)], begun.steps()


@pytest.mark.parametrize("refuse", [lock, drop_notes, leave])
@pytest.mark.parametrize("fault", ["reset_after", "reset_before", "status_after"])
def test_a_note_that_was_repeated_with_the_name_is_there_once_if_its_answer_is_lost(
    begun: Bridge, stand_in: StandIn, refuse: Callable[[StandIn], None], fault: str
) -> None:
    refuse(stand_in)
    (event_id,) = begun.receive(followup_event(1, of_followup=followup(user=NAMED)))
    puts = count(1)

    def losing(call: Call) -> Answer:
        if call.method == "PUT" and next(puts) == 2:  # as the API user, after the person
            stand_in.fault(fault, method="PUT", path="/issues/6.json", count=1)
        return call.make(True)

    with around_calls(losing):
        begun.sync()
    kept = row(begun, Kind.FOLLOWUP, 77)
    assert (kept.body or {})["issue"]["notes"] == WITH_NAME, "what was sent is what is looked for"
    assert [one["issue"]["notes"] for one in kept.earlier or ()] == ["Toner 77 ordered"]
    until_settled(begun)
    assert notes(stand_in) == [("admin", WITH_NAME)], begun.steps()
    assert begun.event(event_id).state == DONE


def test_a_template_is_rendered_without_the_person_if_redmine_refuses_them(
    begun: Bridge, stand_in: StandIn
) -> None:
    names = {"notes": "{{#unless person.login}}{{note.user.name}}: {{/unless}}{{note.content | plain}}"}
    activate(begun, Operation.NOTE_CREATE, **names)
    of_member, of_locked = followup(user=NAMED), followup(78, user={**BOB, "name": "Bob Baker"})
    stand_in.patch("users", 6, status=3)
    events = followup_event(1, of_followup=of_member), followup_event(2, of_followup=of_locked)
    assert begun.forward(*events) == [DONE, DONE], begun.steps()
    assert notes(stand_in) == [("alice", "Toner 77 ordered"), ("admin", "Bob Baker: Toner 78 ordered")]


@pytest.mark.parametrize(
    ("writer", "requester", "is_answer_lost", "code"),
    [
        pytest.param(CAROL, CAROL, False, Reason.NOTE_SENT, id="no member"),
        pytest.param(CAROL, CAROL, True, Reason.NOTE_SENT, id="no member, answer lost"),
        pytest.param(CAROL, BOB, False, Reason.NOTE_SENT_AS_ANOTHER, id="another's ticket"),
        pytest.param(CAROL, BOB, True, Reason.NOTE_SENT_AS_ANOTHER, id="another's ticket, answer lost"),
        pytest.param(BOB, BOB, False, Reason.NOTE_SENT_AS_ANOTHER, id="member without the right"),
    ],
)
def test_a_requester_who_is_no_member_is_no_wrong_author(
    begun: Bridge,
    stand_in: StandIn,
    writer: dict[str, Any],
    requester: dict[str, Any],
    is_answer_lost: bool,
    code: Reason,
) -> None:
    drop_notes(stand_in)
    asking = followup_event(1, of_ticket=ticket(requester=requester), of_followup=followup(user=writer))
    (event_id,) = begun.receive(asking)
    puts = count(1)

    def losing(call: Call) -> Answer:
        if is_answer_lost and call.method == "PUT" and next(puts) == 2:  # as the API user, after the person
            stand_in.fault("reset_after", method="PUT", path="/issues/6.json", count=1)
        return call.make(True)

    with around_calls(losing):
        begun.sync()
    until_settled(begun)
    assert len(notes(stand_in)) == 1, begun.steps()
    assert notes(stand_in)[0][0] == "admin"
    assert begun.event(event_id).code == code
