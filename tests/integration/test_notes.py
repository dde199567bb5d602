"""Follow-ups and solutions become notes of the ticket's issue: each once, in order, by the right person."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.privacy.forgetting import forget
from shared.notices.kinds import Kind
from shared.notices.reasons import Reason
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerState
from shared.values.ids import LARGEST
from tests.support.bridge import Bridge
from tests.support.events import (
    ALICE,
    BOB,
    deletion,
    followup,
    followup_event,
    solution_event,
    task,
    task_event,
    ticket,
    ticket_event,
)
from tests.support.ledger import notes_of, row, until_settled
from worker.ticket import search, tracker
from worker.ticket.bodies import built

DONE, SKIPPED, PENDING = EventState.DONE, EventState.SKIPPED, EventState.PENDING


@pytest.fixture(params=["sqlite", "postgresql"])
def bridge(
    request: pytest.FixtureRequest, stand_in: StandIn, redis_url: str, tmp_path: Path
) -> Iterator[Bridge]:
    """A deskbridge over either database."""
    url = f"sqlite:///{tmp_path}/bridge.sqlite3"
    if request.param == "postgresql":
        url = request.getfixturevalue("emptied_postgres_url")
    made = Bridge(url, redis_url, stand_in.base_url, stand_in.api_key)
    yield made
    made.close()


@pytest.fixture
def noting(bridge: Bridge) -> Bridge:
    """A bridge that sends all notes."""
    bridge.configure(sync_followups="all", sync_solutions="on")
    return bridge


@pytest.fixture
def begun(noting: Bridge) -> Bridge:
    """The same bridge with a ticket that already has its issue."""
    assert noting.forward(task_event()) == [DONE]
    return noting


def notes(stand_in: StandIn) -> list[tuple[str, str]]:
    """Return the author and text of each note, in the order of the tracker's ids."""
    return [(who, text) for who, text, _ in notes_of(stand_in)]


def code(bridge: Bridge, event_id: int) -> str:
    reason = bridge.event(event_id).notice
    assert reason is not None
    return str(reason.code)


def test_a_follow_up_becomes_a_note_of_the_person_who_wrote_it(begun: Bridge, stand_in: StandIn) -> None:
    assert begun.forward(followup_event(1), solution_event(2)) == [DONE, DONE]
    assert notes(stand_in) == [("alice", "Toner 77 ordered"), ("alice", "Toner replaced")]


@pytest.mark.parametrize("event", [followup_event(1), solution_event(1)], ids=lambda one: one["event"])
def test_nothing_is_sent_unless_the_settings_say_so(
    bridge: Bridge, stand_in: StandIn, event: dict[str, Any]
) -> None:
    assert bridge.forward(task_event(), event) == [DONE, SKIPPED]
    assert notes(stand_in) == []


@pytest.mark.promise("SEC-79", "SEC-80")
def test_a_private_follow_up_is_sent_only_with_all(begun: Bridge, stand_in: StandIn) -> None:
    begun.configure(sync_followups="public")
    assert begun.forward(followup_event(1, of_followup=followup(is_private=True))) == [SKIPPED]
    assert "Toner" not in begun.event(2).payload, "its text is not kept either"
    begun.configure(sync_followups="all")
    assert begun.forward(followup_event(2, of_followup=followup(78, is_private=True))) == [DONE]
    assert [is_private for _, _, is_private in notes_of(stand_in)] == [True]


def test_notes_from_before_the_issue_are_sent_once_there_is_one_oldest_first(
    noting: Bridge, stand_in: StandIn
) -> None:
    ids = noting.receive(followup_event(1), followup_event(2, of_followup=followup(78)))
    noting.sync()
    assert [code(noting, one) for one in ids] == [Reason.NO_ISSUE_FOR_NOTE] * 2
    later = followup_event(4, of_followup=followup(79))
    assert noting.forward(task_event(3), later) == [DONE, DONE]
    assert [text for _, text in notes(stand_in)] == [f"Toner {one} ordered" for one in (77, 78, 79)]
    assert [noting.event(one).state for one in ids] == [DONE, DONE]


def test_the_first_time_entry_of_a_new_issue_is_sent_before_its_notes(
    noting: Bridge, stand_in: StandIn
) -> None:
    """It is claimed together with the issue's link, and its lease cannot wait for notes."""
    assert noting.forward(followup_event(1), task_event(2)) == [DONE, DONE]
    sent = [one for one in stand_in.requests() if one["method"] in ("POST", "PUT")]
    paths = [one["path"] for one in sent]
    assert paths.index("/time_entries.json") < paths.index("/issues/6.json")


def test_notes_are_sent_in_the_order_of_their_events(begun: Bridge, stand_in: StandIn) -> None:
    third, first = followup_event(9, of_followup=followup(79)), followup_event(1)
    second = solution_event(5, of_solution={"id": 78, "content": "Solved", "user": BOB})
    assert begun.forward(third, first, second) == [DONE] * 3
    assert notes(stand_in) == [
        ("alice", "Toner 77 ordered"), ("bob", "Solved"), ("alice", "Toner 79 ordered")
    ]  # fmt: skip


def test_a_later_note_waits_for_one_that_is_in_doubt(begun: Bridge, stand_in: StandIn) -> None:
    stand_in.fault("reset_before", method="PUT", path="/issues/6.json", count=1)
    (first,) = begun.receive(followup_event(1))
    begun.sync()
    (second,) = begun.receive(followup_event(2, of_followup=followup(78)))
    begun.sync()
    assert [begun.event(one).state for one in (first, second)] == [PENDING, PENDING]
    assert notes(stand_in) == []
    for _ in range(4):
        begun.hurry()
        begun.sync()
    assert [text for _, text in notes(stand_in)] == ["Toner 77 ordered", "Toner 78 ordered"]


def test_a_follow_up_that_comes_twice_is_sent_once(begun: Bridge, stand_in: StandIn) -> None:
    assert begun.forward(followup_event(1), followup_event(2)) == [EventState.SUPERSEDED, DONE]
    assert begun.forward(followup_event(3, of_followup=followup(content="edited"))) == [DONE]
    assert notes(stand_in) == [("alice", "Toner 77 ordered")]


def test_a_follow_up_and_a_solution_of_one_number_and_text_are_two_notes(
    begun: Bridge, stand_in: StandIn
) -> None:
    same = {"id": 77, "content": "Done", "user": ALICE}
    assert (
        begun.forward(followup_event(1, of_followup=same), solution_event(2, of_solution=same)) == [DONE] * 2
    )
    assert notes(stand_in) == [("alice", "Done")] * 2


def test_trial_mode_sends_no_note_and_says_what_it_would_send(begun: Bridge, stand_in: StandIn) -> None:
    begun.configure(trial=True)
    ids = begun.receive(followup_event(1), solution_event(2))
    begun.sync()
    assert notes(stand_in) == []
    assert [begun.event(one).state for one in ids] == [PENDING, PENDING]
    assert "add a note to issue #6 as alice" in str(begun.event(ids[1]).reason)
    begun.configure(trial=False)
    begun.hurry()
    begun.sync()
    assert [text for _, text in notes(stand_in)] == ["Toner 77 ordered", "Toner replaced"]


def test_trial_mode_keeps_the_notes_that_wait_for_an_issue(noting: Bridge, stand_in: StandIn) -> None:
    noting.receive(followup_event(1))
    noting.sync()
    noting.configure(trial=True)
    noting.receive(task_event(2), followup_event(3, of_followup=followup(78)))
    noting.sync()
    assert notes(stand_in) == []
    noting.configure(trial=False)
    noting.hurry()
    noting.sync()
    assert [text for _, text in notes(stand_in)] == ["Toner 77 ordered", "Toner 78 ordered"]


def test_a_note_without_text_is_skipped(begun: Bridge, stand_in: StandIn) -> None:
    assert begun.forward(followup_event(1, of_followup=followup(content="<p> </p>"))) == [SKIPPED]
    assert notes(stand_in) == []


def test_a_follow_up_with_a_picture_is_sent_whatever_number_its_ticket_has(
    noting: Bridge, stand_in: StandIn
) -> None:
    """For the largest numbers no document is kept, since a key of both numbers would be too large."""
    of_ticket = ticket(LARGEST)
    shown = followup(content="<p>See</p><img src='/front/document.send.php?docid=91'>")
    events = task_event(of_ticket=of_ticket), followup_event(1, of_ticket=of_ticket, of_followup=shown)
    assert noting.forward(*events, ticket_id=LARGEST) == [DONE, DONE]
    assert len(notes(stand_in)) == 1


def test_a_person_whom_redmine_does_not_know_is_named_in_the_note(begun: Bridge, stand_in: StandIn) -> None:
    stranger = {"id": 99, "email": "stranger@example.test", "name": "Sam Stranger"}
    assert begun.forward(followup_event(1, of_followup=followup(user=stranger))) == [DONE]
    assert notes(stand_in) == [("admin", "Sam Stranger:\n\nToner 77 ordered")]


def test_a_requester_needs_no_account_so_the_note_is_under_no_wrong_user(
    begun: Bridge, stand_in: StandIn
) -> None:
    stranger = {"id": 99, "email": "stranger@example.test", "name": "Sam Stranger"}
    asked = ticket(requester=stranger)
    (event_id,) = begun.receive(followup_event(1, of_ticket=asked, of_followup=followup(user=stranger)))
    begun.sync()
    assert notes(stand_in) == [("admin", "Sam Stranger:\n\nToner 77 ordered")]
    assert begun.event(event_id).code == Reason.NOTE_SENT
    assert requesters(begun) == {99}
    begun.forward(task_event(2, of_task=task(513, user=stranger)))
    assert requesters(begun) == set(), "who logs time is expected to have an account"
    begun.forward(followup_event(3, of_ticket=asked, of_followup=followup(78, user=stranger)))
    assert requesters(begun) == set()


def requesters(bridge: Bridge) -> set[int]:
    """Return the people whom events name only as requesters."""
    with bridge.store.transaction() as tx:
        return tx.people.requesters()


def test_a_person_who_is_forgotten_is_named_in_no_note_that_is_kept(begun: Bridge, stand_in: StandIn) -> None:
    stranger = {"id": 99, "email": "stranger@example.test", "name": "Sam Stranger"}
    assert begun.forward(followup_event(1, of_followup=followup(user=stranger))) == [DONE]
    forget(begun.store, 99, None)
    with begun.store.transaction() as tx:
        kept = tx.ledger(Kind.FOLLOWUP).get(77)
        assert kept is not None
        texts = [str(kept.body), *(row.payload for row in tx.journal.find(limit=None))]
    assert not [one for one in texts if "stranger" in one.lower()]
    assert "Toner 77 ordered" in texts[0]


def test_a_deleted_ticket_gets_no_note(begun: Bridge, stand_in: StandIn) -> None:
    deleted = {"event": "ticket.deleted", "occurred_at": task_event(1)["occurred_at"], "ticket": {"id": 4711}}
    assert begun.forward(deleted, followup_event(0.5))[1] == SKIPPED
    assert notes(stand_in) == []


SECRET = "the password is swordfish"
ADDED = followup_event(1, of_followup=followup(content=SECRET))
NOW_PRIVATE = {**deletion(2, "followup.updated"), "followup": {"id": 77, "is_private": True}}
WITHDRAWN = {
    "private": NOW_PRIVATE,
    "private, whole": followup_event(
        2, event="followup.updated", of_followup=followup(content=SECRET, is_private=True)
    ),
    "deleted": {**deletion(2, "followup.deleted"), "followup": {"id": 77}},
}


def texts_kept(bridge: Bridge) -> list[str]:
    """Return the contents of the journal that still have the secret text."""
    with bridge.store.transaction() as tx:
        return [one.payload for one in tx.journal.find(limit=None) if SECRET in one.payload]


@pytest.mark.promise("SEC-84")
@pytest.mark.parametrize("is_late", [False, True], ids=["in order", "late"])
@pytest.mark.promise("SEC-84")
@pytest.mark.parametrize("name", WITHDRAWN)
def test_what_is_private_or_deleted_before_there_is_an_issue_is_never_published(
    bridge: Bridge, stand_in: StandIn, name: str, is_late: bool
) -> None:
    bridge.configure(sync_followups="public")
    for event in (WITHDRAWN[name], ADDED) if is_late else (ADDED, WITHDRAWN[name]):
        bridge.forward(event)
    assert bridge.forward(task_event(3)) == [DONE]
    bridge.sync()
    assert notes(stand_in) == []
    assert SECRET not in str(stand_in.state())
    assert not texts_kept(bridge) or name == "deleted"


@pytest.mark.promise("SEC-84")
@pytest.mark.parametrize("name", WITHDRAWN)
def test_what_becomes_private_or_is_deleted_while_its_note_waits_is_not_published(
    begun: Bridge, stand_in: StandIn, name: str
) -> None:
    begun.configure(sync_followups="public")
    stand_in.fault("reset_before", method="PUT", count=1)
    begun.forward(ADDED)
    assert row(begun, Kind.FOLLOWUP, 77).state == LedgerState.IN_DOUBT
    begun.receive(WITHDRAWN[name])
    until_settled(begun)
    assert row(begun, Kind.FOLLOWUP, 77).state == LedgerState.FREE
    assert notes(stand_in) == [], begun.steps()


@pytest.mark.promise("SEC-84")
@pytest.mark.parametrize("name", WITHDRAWN)
def test_what_failed_and_then_becomes_private_or_is_deleted_is_not_published_by_a_replay(
    begun: Bridge, stand_in: StandIn, name: str
) -> None:
    begun.configure(sync_followups="public")
    stand_in.fault("status_before", method="PUT", status=422, count=2)
    (failed,) = begun.receive(ADDED)
    begun.sync()
    assert begun.event(failed).state == EventState.FAILED, begun.steps()
    begun.forward(WITHDRAWN[name])
    with begun.store.transaction() as tx:
        tx.journal.replay([failed])
    begun.sync()
    assert notes(stand_in) == [], begun.steps()


@pytest.mark.promise("SEC-84")
def test_what_becomes_private_between_load_and_send_is_not_published(
    begun: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun.configure(sync_followups="public")

    async def late(*asked: Any) -> Any:
        if len(begun_again) == 0:
            begun_again.extend(begun.receive(NOW_PRIVATE))
        return await built(*asked)

    begun_again: list[int] = []
    monkeypatch.setattr("worker.ticket.adding.built", late)
    begun.forward(ADDED)
    begun.hurry()
    begun.sync()
    assert notes(stand_in) == [], begun.steps()


def test_what_becomes_private_is_a_private_note_if_all_follow_ups_are_sent(
    begun: Bridge, stand_in: StandIn
) -> None:
    begun.receive(ADDED, NOW_PRIVATE)
    begun.sync()
    assert notes_of(stand_in) == [("alice", SECRET, True)]
    assert texts_kept(begun), "it may be stored"


def test_a_follow_up_that_is_public_again_is_sent_once(bridge: Bridge, stand_in: StandIn) -> None:
    bridge.configure(sync_followups="public")
    again = followup_event(4, event="followup.updated", of_followup=followup(content="no secret"))
    bridge.forward(ADDED)
    bridge.forward(NOW_PRIVATE)
    bridge.forward(task_event(3))
    assert bridge.forward(again) == [DONE]
    assert texts_kept(bridge) == []
    bridge.forward(again | {"sequence": 1}, ADDED | {"sequence": 2})
    assert notes(stand_in) == [("alice", "no secret")]


def test_a_note_in_doubt_is_settled_although_its_follow_up_is_private_now(
    begun: Bridge, stand_in: StandIn
) -> None:
    begun.configure(sync_followups="public")
    stand_in.fault("reset_after", method="PUT", count=1)
    begun.forward(ADDED)
    assert row(begun, Kind.FOLLOWUP, 77).state == LedgerState.IN_DOUBT
    begun.receive(NOW_PRIVATE)
    until_settled(begun)
    assert row(begun, Kind.FOLLOWUP, 77).state == LedgerState.LINKED
    assert len(notes(stand_in)) == 1, "it had been sent before"


@pytest.mark.promise("SEC-79")
def test_the_text_of_a_task_that_becomes_private_is_removed_from_its_older_events(
    bridge: Bridge, stand_in: StandIn
) -> None:
    written = task_event(of_task=task(content=SECRET, state=1))
    bridge.forward(written)
    bridge.forward(task_event(1, of_task=task(content=SECRET, is_private=True)))
    assert texts_kept(bridge) == []
    bridge.forward(written | {"sequence": 1})
    assert texts_kept(bridge) == []
    assert SECRET not in str(stand_in.state())


def test_time_and_notes_of_another_person_have_their_own_names(noting: Bridge, stand_in: StandIn) -> None:
    events = (
        task_event(of_task=task(user=BOB)),
        followup_event(1),
        followup_event(2, of_followup=followup(78, user=BOB)),
    )
    assert noting.forward(*events, ticket_event(3, of_ticket=ticket(status=5))) == [DONE] * 4
    assert [who for who, _ in notes(stand_in)] == ["alice", "bob"]


def lengthen(stand_in: StandIn, count: int, size: int = 283_000) -> None:
    """Give the issue so many long notes."""
    note = {"user_id": 5, "created_on": 1_700_000_000.0, "notes": "x" * size, "details": []}
    journals = [{**note, "id": number, "private_notes": False} for number in range(1, count + 1)]
    stand_in.patch("issues", 6, journals=journals)


def test_an_issue_with_notes_of_many_megabytes_gets_its_next_note(bridge: Bridge, stand_in: StandIn) -> None:
    bridge.configure(sync_followups="all")
    assert bridge.forward(task_event()) == [DONE]
    lengthen(stand_in, 62)
    assert bridge.forward(followup_event(1)) == [DONE], bridge.steps()


def test_an_issue_that_is_too_long_to_be_read_fails_its_notes_with_a_step(
    begun: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was sent, and nothing waits: the event is replayed once the notes are shorter."""
    monkeypatch.setattr(tracker, "LARGEST_ISSUE", 1_000_000)
    lengthen(stand_in, 10)
    (event_id,) = begun.receive(followup_event(1))
    begun.sync()
    assert begun.event(event_id).state == EventState.FAILED
    assert code(begun, event_id) == "answer_too_long"
    assert begun.forward(task_event(2, of_task=task(513))) == [DONE]
    lengthen(stand_in, 1)
    with begun.store.transaction() as tx:
        tx.journal.replay([event_id])
    begun.sync()
    assert begun.event(event_id).state == DONE


def test_an_issue_that_became_too_long_puts_a_note_in_doubt_on_hold(
    begun: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in.fault("reset_after", method="PUT", path="/issues/6.json", count=1)
    begun.receive(followup_event(1))
    begun.sync()
    monkeypatch.setattr(search, "LARGEST_ISSUE", 1_000_000)
    lengthen(stand_in, 10)
    until_settled(begun, rounds=8)
    held = row(begun, Kind.FOLLOWUP, 77)
    assert held.state == LedgerState.ON_HOLD
    assert "longer than deskbridge reads" in str(held.reason)
