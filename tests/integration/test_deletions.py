"""Deleted tickets and tasks create nothing, logged hours stay, and restored ones are considered again."""

from __future__ import annotations

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.queries.story import trace_ticket
from shared.notices.kinds import Kind
from shared.notices.reasons import Reason
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerState
from tests.support.bridge import Bridge
from tests.support.events import deletion, task, task_event, ticket, ticket_event
from tests.support.ledger import entries, ours, row, until_settled

NEW, ASSIGNED, SOLVED = 1, 2, 5


@pytest.fixture(params=["sqlite", "postgresql"])
def either(request: pytest.FixtureRequest) -> Bridge:
    """A deskbridge over each kind of database."""
    found: Bridge = request.getfixturevalue("bridge" if request.param == "sqlite" else "bridge_on_postgresql")
    return found


def test_tasks_of_a_deleted_ticket_are_skipped_and_logged_once_it_is_restored(
    either: Bridge, stand_in: StandIn
) -> None:
    ids = either.receive(task_event(), ticket_event(1), deletion(2, "ticket.deleted"))
    either.sync()
    assert [either.event(one).notice for one in ids] == [
        Reason.TICKET_DELETED(),
        Reason.TICKET_DELETED(),
        Reason.DELETED_THERE(),
    ]
    assert (ours(stand_in), entries(stand_in)) == ([], [])
    assert either.forward(deletion(3, "ticket.restored")) == [EventState.DONE]
    assert [either.event(one).state for one in ids] == [EventState.DONE, EventState.DONE, EventState.SKIPPED]
    assert (len(ours(stand_in)), len(entries(stand_in))) == (1, 1)


def test_a_deletion_may_come_before_anything_else_was_heard_of_a_ticket(
    either: Bridge, stand_in: StandIn
) -> None:
    assert either.forward(deletion(5, "ticket.deleted")) == [EventState.SKIPPED]
    assert either.forward(task_event(6)) == [EventState.SKIPPED]
    assert either.forward(deletion(4, "ticket.restored")) == [EventState.DONE]
    assert not entries(stand_in)
    either.forward(deletion(7, "ticket.restored"))
    assert len(entries(stand_in)) == 1


def test_events_of_the_same_moment_are_in_the_order_of_their_sequence(
    either: Bridge, stand_in: StandIn
) -> None:
    back = deletion(1, "ticket.restored", sequence=2)
    either.forward(back, deletion(1, "ticket.deleted", sequence=1), task_event())
    assert len(entries(stand_in)) == 1


def test_a_deleted_ticket_is_given_no_status_until_it_is_restored(either: Bridge, stand_in: StandIn) -> None:
    either.forward(task_event())
    calls = len(stand_in.requests())
    either.forward(deletion(1, "ticket.deleted"), ticket_event(2, of_ticket=ticket(status=SOLVED)))
    assert len(stand_in.requests()) == calls
    with either.store.transaction() as tx:
        assert tx.statuses.due_tickets(10) == []
    either.forward(deletion(3, "ticket.restored"))
    assert ours(stand_in)[0]["status_id"] == 3


def test_what_was_logged_of_what_is_deleted_stays(either: Bridge, stand_in: StandIn) -> None:
    either.forward(task_event())
    gone = [deletion(1, "ticket_task.deleted", task_id=512), deletion(2, "ticket.deleted")]
    assert either.forward(*gone) == [EventState.SKIPPED, EventState.SKIPPED]
    assert (len(ours(stand_in)), len(entries(stand_in))) == (1, 1)
    assert row(either, Kind.TICKET_TASK, 512).state == LedgerState.LINKED


@pytest.mark.parametrize("first", ["task", "deletion"])
def test_a_task_that_is_deleted_before_it_was_logged_logs_nothing(
    either: Bridge, stand_in: StandIn, first: str
) -> None:
    told = {"task": task_event(), "deletion": deletion(1, "ticket_task.deleted", task_id=512)}
    ids = [either.receive(told[one])[0] for one in sorted(told, key=lambda one: one != first)]
    either.sync()
    assert [either.event(one).notice for one in ids] == [Reason.DELETED_THERE()] * 2
    assert not ours(stand_in)


def test_a_deleted_task_is_not_logged_by_a_replay_of_its_event(either: Bridge, stand_in: StandIn) -> None:
    (event_id,) = either.receive(task_event())
    either.forward(deletion(1, "ticket_task.deleted", task_id=512))
    with either.store.transaction() as tx:
        tx.journal.replay([event_id])
    either.sync()
    assert not entries(stand_in)


def test_a_creation_under_way_is_settled_although_its_ticket_is_deleted(
    either: Bridge, stand_in: StandIn
) -> None:
    stand_in.fault("reset_after", method="POST", path="/time_entries.json", count=1)
    either.forward(task_event())
    assert row(either, Kind.TICKET_TASK, 512).state == LedgerState.IN_DOUBT
    either.receive(deletion(1, "ticket.deleted"))
    until_settled(either)
    assert row(either, Kind.TICKET_TASK, 512).state == LedgerState.LINKED
    assert len(entries(stand_in)) == 1


def test_a_creation_that_was_never_made_is_not_made_for_a_deleted_ticket(
    either: Bridge, stand_in: StandIn
) -> None:
    stand_in.fault("reset_before", method="POST", path="/time_entries.json", count=1)
    (event_id,) = either.receive(task_event())
    either.sync()
    either.receive(deletion(1, "ticket.deleted"))
    until_settled(either)
    assert row(either, Kind.TICKET_TASK, 512).state == LedgerState.FREE
    assert either.event(event_id).notice == Reason.TICKET_DELETED()
    assert not entries(stand_in)


def test_a_snapshot_says_that_its_ticket_is_in_the_bin_and_a_newer_one_that_it_is_back(
    either: Bridge, stand_in: StandIn
) -> None:
    """GLPI's own webhooks do this, since they do not report a restore."""
    in_the_bin, back = ticket(is_deleted=True), ticket(is_deleted=False)
    (event_id,) = either.receive(task_event(1, of_ticket=in_the_bin))
    either.sync()
    assert either.event(event_id).notice == Reason.TICKET_DELETED()
    either.forward(ticket_event(0, of_ticket=back))
    assert not entries(stand_in)
    either.forward(ticket_event(2, of_ticket=back))
    assert len(entries(stand_in)) == 1


def test_a_snapshot_that_says_nothing_of_it_does_not_bring_a_ticket_back(
    either: Bridge, stand_in: StandIn
) -> None:
    """While GLPI purges a ticket it removes the ticket's people, and each removal is an update of the ticket."""
    either.forward(
        deletion(1, "ticket.deleted"), ticket_event(2, of_ticket=ticket(status=NEW, technician=None))
    )
    either.forward(task_event(3))
    assert not ours(stand_in)


def test_many_events_of_a_deleted_ticket_are_looked_at_in_bounds(either: Bridge, stand_in: StandIn) -> None:
    """More events than are read at once: the deletion counts wherever it is among them."""
    updates = [ticket_event(minute) for minute in range(2, 240)]
    either.receive(deletion(1, "ticket.deleted"), *updates)
    assert either.forward(task_event(300)) == [EventState.SKIPPED]
    assert not ours(stand_in)


def test_a_task_that_went_to_another_ticket_is_logged_there_although_its_first_one_is_deleted(
    either: Bridge, stand_in: StandIn
) -> None:
    either.receive(task_event(), deletion(1, "ticket.deleted"), task_event(2, of_ticket=ticket(4712)))
    either.sync(4711)
    either.sync(4712)
    assert [one["comments"] for one in entries(stand_in)] == ["Extinguished 512"]


def test_the_trace_tells_of_deletions(bridge: Bridge) -> None:
    bridge.forward(task_event(of_task=task()), deletion(1, "ticket_task.deleted", task_id=512))
    bridge.forward(deletion(2, "ticket.deleted"))
    bridge.forward(deletion(3, "ticket.restored"))
    told = [step.what for step in trace_ticket(bridge.store, 4711).steps]
    for expected in (
        "Event 2 arrived: ticket task 512 deleted",
        "Event 2: skipped",
        "Event 3 arrived: ticket deleted",
        "Event 4: done",
        "Skipped events are processed again",
    ):
        assert any(one.startswith(expected) for one in told), (expected, told)
