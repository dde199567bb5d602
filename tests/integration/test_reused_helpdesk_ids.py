"""GLPI gives the id of a lost item to a new one if it was restored and its counters were not raised."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.review.held import resolve
from producer.admin.services import Services
from shared.notices.kinds import Kind
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerState
from tests.support.bridge import Bridge
from tests.support.events import (
    deletion,
    followup,
    followup_event,
    moment,
    solution_event,
    task,
    task_event,
    ticket,
    ticket_event,
)
from tests.support.ledger import change, entries, notes_of, ours, row, until_settled

pytestmark = pytest.mark.promise("OPS-38")
ISSUE, CLOSED = 6, 6
OLD, NEW = moment(-90.5), moment(40.25)
"""When GLPI created the lost items, and the new ones with their ids."""


@pytest.fixture(params=["sqlite", "postgresql"])
def desk(request: pytest.FixtureRequest) -> Bridge:
    """A deskbridge over each kind of database that sends notes, too."""
    found: Bridge = request.getfixturevalue("bridge" if request.param == "sqlite" else "bridge_on_postgresql")
    found.configure(sync_followups="all", sync_solutions="on")
    return found


def of_task(
    at: float, created_at: str | None, of_ticket: str | None = OLD, number: int = 512
) -> dict[str, Any]:
    """Return the event of a Done task that GLPI created at a time, on a ticket that it created at a time."""
    return task_event(
        at,
        event="ticket_task.added",
        of_ticket=ticket(created_at=of_ticket),
        of_task=task(number, created_at=created_at, content=f"<p>Typed at {created_at}</p>"),
    )


def of_note(at: float, created_at: str) -> dict[str, Any]:
    return followup_event(at, of_ticket=ticket(created_at=OLD), of_followup=followup(created_at=created_at))


def of_solution(at: float, created_at: str) -> dict[str, Any]:
    solution = {"id": 77, "content": "<p>Toner replaced</p>", "user": None, "created_at": created_at}
    return solution_event(at, of_ticket=ticket(created_at=OLD), of_solution=solution)


def held(desk: Bridge, kind: Kind, key: int) -> Notice:
    """Return why a row is on hold."""
    found = row(desk, kind, key)
    assert found.state == LedgerState.ON_HOLD
    assert found.notice is not None
    return found.notice


def writes(stand_in: StandIn) -> int:
    return len([one for one in stand_in.requests() if one["method"] != "GET"])


def decide(desk: Bridge, kind: Kind, key: int, adopt: int | None) -> None:
    resolve(Services(desk.settings, desk.store), kind, key, adopt)
    until_settled(desk)


ITEMS = {"task": (of_task, Kind.TICKET_TASK, 512), "note": (of_note, Kind.FOLLOWUP, 77),
         "solution": (of_solution, Kind.SOLUTION, 77)}  # fmt: skip


@pytest.mark.parametrize("what", ITEMS)
def test_a_new_item_with_the_id_of_a_lost_one_waits_for_a_person_and_is_sent_if_told_so(
    desk: Bridge, stand_in: StandIn, what: str
) -> None:
    make, kind, key = ITEMS[what]
    assert desk.forward(of_task(0, OLD, number=600), make(1, OLD)) == ["done", "done"]
    before, first = writes(stand_in), row(desk, kind, key).tracker_id
    (again,) = desk.receive(make(60, NEW))
    desk.sync()
    event = desk.event(again)
    assert event.state == EventState.ON_HOLD
    assert held(desk, kind, key).code == Reason.HELPDESK_ID_REUSED
    assert "created 2026-01-05 09:40:15+00:00" in str(event.reason)
    assert writes(stand_in) == before
    decide(desk, kind, key, None)
    assert desk.event(again).state == EventState.DONE
    assert row(desk, kind, key).tracker_id not in (None, first)
    assert (len(entries(stand_in)), len(notes_of(stand_in))) == ((3, 0) if what == "task" else (1, 2))


@pytest.mark.parametrize("what", ITEMS)
def test_an_item_on_hold_with_the_id_of_another_ticket_s_item_is_something_to_decide(
    desk: Bridge, stand_in: StandIn, what: str
) -> None:
    make, _, _ = ITEMS[what]
    other = ticket(4712, created_at=OLD)
    kept = of_task(0, OLD, number=601) | {"ticket": other}
    assert desk.forward(of_task(0, OLD, number=600), make(1, OLD)) == ["done", "done"]
    assert desk.forward(kept, ticket_id=4712) == ["done"]
    assert desk.forward(make(60, NEW) | {"ticket": other}, ticket_id=4712) == ["on_hold"]
    with desk.store.transaction() as tx:
        assert tx.journal.count_on_hold_for_nothing() == 0


def test_a_person_may_say_that_it_is_the_same_after_all(desk: Bridge, stand_in: StandIn) -> None:
    assert desk.forward(of_task(0, OLD)) == ["done"]
    assert desk.forward(of_task(60, NEW)) == ["on_hold"]
    entry = row(desk, Kind.TICKET_TASK, 512).tracker_id
    decide(desk, Kind.TICKET_TASK, 512, entry)
    assert desk.forward(of_task(61, NEW)) == ["done"]
    assert len(entries(stand_in)) == 1


OF_NEW_TICKET = {
    "time entry": of_task(61, NEW, NEW, 900),
    "status": ticket_event(61, of_ticket=ticket(created_at=NEW, status=CLOSED)),
    "note": followup_event(61, of_ticket=ticket(created_at=NEW), of_followup=followup(900, created_at=NEW)),
    "task without a time": of_task(61, None, NEW, 900),
}


@pytest.mark.parametrize("what", OF_NEW_TICKET)
def test_nothing_of_a_new_ticket_is_sent_to_the_issue_of_a_lost_one(
    desk: Bridge, stand_in: StandIn, what: str
) -> None:
    assert desk.forward(of_task(0, OLD)) == ["done"]
    before = writes(stand_in)
    assert desk.forward(OF_NEW_TICKET[what]) == ["on_hold"]
    until_settled(desk)
    assert writes(stand_in) == before
    assert held(desk, Kind.TICKET, 4711).code == Reason.HELPDESK_ID_REUSED


def test_a_new_ticket_that_is_deleted_leaves_the_issue_of_the_lost_one_as_it_is(
    desk: Bridge, stand_in: StandIn
) -> None:
    desk.configure(deleted_status_id=CLOSED)
    assert desk.forward(of_task(0, OLD)) == ["done"]
    before = writes(stand_in)
    new = ticket_event(60, of_ticket=ticket(created_at=NEW))
    assert desk.forward(new, deletion(61, "ticket.deleted")) == ["skipped", "skipped"]
    until_settled(desk)
    assert writes(stand_in) == before
    assert held(desk, Kind.TICKET, 4711).code == Reason.HELPDESK_ID_REUSED


def test_a_new_ticket_gets_an_issue_of_its_own_and_the_lost_one_keeps_what_it_has(
    desk: Bridge, stand_in: StandIn
) -> None:
    assert desk.forward(of_task(0, OLD), of_task(0.5, OLD, number=513)) == ["done", "done"]
    assert desk.forward(
        of_task(60, NEW, NEW), ticket_event(61, of_ticket=ticket(created_at=NEW, status=CLOSED))
    ) == [
        "on_hold",
        "on_hold",
    ]
    decide(desk, Kind.TICKET, 4711, None)
    decide(desk, Kind.TICKET_TASK, 512, None)
    assert row(desk, Kind.TICKET, 4711).tracker_id == ISSUE + 1
    assert sorted(one["issue_id"] for one in entries(stand_in)) == [ISSUE, ISSUE, ISSUE + 1]
    assert [one["status_id"] == ours(stand_in)[0]["status_id"] for one in ours(stand_in)] == [True, False]
    assert desk.forward(of_task(70, NEW, NEW, 514)) == ["done"]


def test_an_event_of_the_lost_ticket_is_not_sent_to_the_issue_of_the_new_one(
    desk: Bridge, stand_in: StandIn
) -> None:
    assert desk.forward(of_task(0, OLD)) == ["done"]
    assert desk.forward(of_task(60, NEW, NEW, 900)) == ["on_hold"]
    decide(desk, Kind.TICKET, 4711, None)
    (late,) = desk.receive(of_task(1, OLD, OLD, 513))
    desk.sync()
    assert desk.event(late).state == EventState.FAILED
    assert desk.event(late).has_code(Reason.OF_EARLIER_TICKET)
    assert [one["issue_id"] for one in entries(stand_in)] == [ISSUE, ISSUE + 1]


@pytest.mark.parametrize("what", ["task", "note"])
def test_a_failed_event_of_the_lost_ticket_stays_when_a_new_item_with_its_id_is_sent(
    desk: Bridge, stand_in: StandIn, what: str
) -> None:
    """Its hours or text are entered by hand, so it must not vanish as sent by the new item's event."""
    make, _, _ = ITEMS[what]
    assert desk.forward(of_task(0, OLD, number=600)) == ["done"]
    assert desk.forward(of_task(60, NEW, NEW, 900)) == ["on_hold"]
    decide(desk, Kind.TICKET, 4711, None)
    (late,) = desk.receive(make(1, OLD))
    desk.sync()
    new = make(62, NEW) | {"ticket": ticket(created_at=NEW)}
    assert desk.forward(new) == ["done"]
    assert desk.event(late).state == EventState.FAILED
    assert desk.event(late).has_code(Reason.OF_EARLIER_TICKET)


def test_a_new_item_does_not_take_the_object_of_a_lost_one_whose_answer_was_lost(
    desk: Bridge, stand_in: StandIn
) -> None:
    stand_in.fault("close_after", method="POST", path="/time_entries.json", count=1)
    assert desk.forward(of_task(0, OLD)) == ["pending"]
    (again,) = desk.receive(of_task(60, NEW))
    until_settled(desk)
    assert desk.event(again).state == EventState.ON_HOLD
    assert held(desk, Kind.TICKET_TASK, 512).code == Reason.HELPDESK_ID_REUSED
    assert len(entries(stand_in)) == 1


@pytest.mark.parametrize(
    ("minutes", "state"), [(120, "done"), (-825, "done"), (1560, "done"), (1575, "on_hold"), (7, "on_hold")]
)
def test_another_time_zone_of_glpi_is_no_other_item(bridge: Bridge, minutes: float, state: str) -> None:
    assert bridge.forward(of_task(0, moment(0.5))) == ["done"]
    assert bridge.forward(of_task(60, moment(0.5 + minutes))) == [state]


@pytest.mark.parametrize(("first", "then"), [(None, NEW), (OLD, None), (None, None)])
def test_without_both_times_an_id_is_believed(bridge: Bridge, first: str | None, then: str | None) -> None:
    assert bridge.forward(of_task(0, first, first)) == ["done"]
    assert bridge.forward(of_task(60, then, then)) == ["done"]
    assert row(bridge, Kind.TICKET_TASK, 512).state == LedgerState.LINKED


def test_a_row_of_an_earlier_version_has_no_time(bridge: Bridge) -> None:
    assert bridge.forward(of_task(0, OLD)) == ["done"]
    change(bridge, Kind.TICKET_TASK, 512, item_created_at=None)
    assert bridge.forward(of_task(60, NEW)) == ["done"]
