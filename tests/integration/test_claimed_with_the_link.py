"""A new issue's link and its first time entry's claim are one commit; if the claim fails, the link still counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from inspect import CORO_SUSPENDED, getcoroutinestate
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.errors import LeaseExpired, NotStarted
from shared.notices.faults import Fault
from shared.notices.kinds import Kind
from shared.store.ledger.statements import Claim as Asked
from shared.store.tables.ledger import LedgerState
from tests.support.bridge import Bridge
from tests.support.events import BOB, task, task_event, ticket
from tests.support.ledger import entries, ours, row
from tests.support.workflows import going_on, is_creation, kill, up_to, workflow_up_to
from worker.ticket.create import Attempt, Claim, Link, LinkAndClaim
from worker.ticket.requests import TimeEntryCreation
from worker.ticket.results import Created, Waiting
from worker.ticket.steps import Step, Workflow, drive

FIRST, SECOND, THIRD = 1, 2, 3


@pytest.fixture(params=["sqlite", "postgresql"])
def desk(request: pytest.FixtureRequest) -> Bridge:
    """A deskbridge over each database that knows the memberships it created; a second ticket waits."""
    found: Bridge = request.getfixturevalue("bridge" if request.param == "sqlite" else "bridge_on_postgresql")
    found.forward(task_event(of_ticket=ticket(FIRST), of_task=task(FIRST)), ticket_id=FIRST)
    found.receive(task_event(1, of_ticket=ticket(SECOND), of_task=task(SECOND)))
    return found


@contextmanager
def up_to_the_link(desk: Bridge) -> Iterator[tuple[Workflow[Any], LinkAndClaim]]:
    """Run the second ticket's workflow up to `LinkAndClaim`; kill the rest of it afterwards."""
    workflow, action = workflow_up_to(desk, LinkAndClaim, SECOND)
    try:
        yield workflow, action
    finally:
        if getcoroutinestate(workflow) == CORO_SUSPENDED:
            kill(workflow)


def together(desk: Bridge, action: LinkAndClaim) -> tuple[Created | Waiting, object]:
    """Execute link and claim as a scheduler does."""
    with desk.store.transaction() as tx:
        (found,) = LinkAndClaim.execute_many(tx, [action])
    return found


def states(desk: Bridge) -> tuple[str, str]:
    """Return the states of the second ticket's issue and time entry."""
    return row(desk, Kind.TICKET, SECOND).state, row(desk, Kind.TICKET_TASK, SECOND).state


def assert_forwarded_once(desk: Bridge, stand_in: StandIn) -> None:
    desk.sync(SECOND)
    assert states(desk) == (LedgerState.LINKED, LedgerState.LINKED)
    assert (len(ours(stand_in)), len(entries(stand_in))) == (2, 2)


def test_both_are_committed_together(desk: Bridge, stand_in: StandIn) -> None:
    with up_to_the_link(desk) as (_, action):
        created, attempt = together(desk, action)
    assert isinstance(created, Created)
    assert isinstance(attempt, Attempt)
    assert states(desk) == (LedgerState.LINKED, LedgerState.CLAIMED)
    assert row(desk, Kind.TICKET_TASK, SECOND).issue_id == created.tracker_id == ours(stand_in)[1]["id"]


def test_what_was_claimed_and_may_not_be_sent_any_more_is_free_again(desk: Bridge, stand_in: StandIn) -> None:
    with up_to_the_link(desk) as (workflow, action):
        assert is_creation(up_to(workflow, workflow.send(together(desk, action)), is_creation))
        drive(workflow, NotStarted(Fault.WORKER_ENDS()))
    assert states(desk) == (LedgerState.LINKED, LedgerState.FREE)
    assert_forwarded_once(desk, stand_in)


def test_what_was_claimed_and_whose_lease_ran_out_unsent_is_made_another_time(
    desk: Bridge, stand_in: StandIn
) -> None:
    with up_to_the_link(desk) as (workflow, action):
        assert is_creation(up_to(workflow, workflow.send(together(desk, action)), is_creation))
        drive(workflow, LeaseExpired(Fault.LEASE_RAN_OUT()))
    assert states(desk) == (LedgerState.LINKED, LedgerState.FREE)
    desk.hurry()
    assert_forwarded_once(desk, stand_in)


def test_nothing_is_claimed_where_there_is_more_to_the_answer(desk: Bridge, stand_in: StandIn) -> None:
    """Another worker thought the issue's claim was lost and claimed the row again: the answer arrives late."""
    with up_to_the_link(desk) as (_, action):
        with desk.store.transaction() as tx:
            tx.issues.free(SECOND, action.link.attempt.number, Fault.LEASE_RAN_OUT())
            tx.issues.claim(action.link.creation.claim(), 20)
        created, claimed = together(desk, action)
    assert isinstance(created, Waiting)
    assert claimed is None
    assert row(desk, Kind.TICKET, SECOND).state == LedgerState.ON_HOLD
    assert len(entries(stand_in)) == 1


@pytest.mark.parametrize("is_alone", [True, False])
def test_nothing_is_claimed_by_settings_of_before(desk: Bridge, stand_in: StandIn, *, is_alone: bool) -> None:
    """The link is recorded; the time entry is built again."""
    with up_to_the_link(desk) as (workflow, action):
        desk.configure(default_activity_id=9)
        found = action.carry_out() if is_alone else together(desk, action)
        assert row(desk, Kind.TICKET, SECOND).state == LedgerState.LINKED
        drive(going_on(workflow, found))
    assert_forwarded_once(desk, stand_in)
    assert entries(stand_in)[1]["activity_id"] == 9


def test_no_error_after_the_answer_makes_the_row_free(desk: Bridge, stand_in: StandIn) -> None:
    """This holds even for an error that otherwise means that nothing was sent: the issue exists."""
    with up_to_the_link(desk) as (workflow, _), suppress(NotStarted):
        drive(workflow, NotStarted(Fault.WORKER_ENDS()))
    desk.hurry()
    desk.sync(SECOND)
    assert row(desk, Kind.TICKET, SECOND).state == LedgerState.CLAIMED, (
        "it is searched once the lease is over"
    )
    assert len(ours(stand_in)) == 2


def test_a_claim_that_fails_keeps_no_answer_from_its_row(
    desk: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_claim: Claim) -> None:
        raise ValueError("no such claim")

    with up_to_the_link(desk) as (workflow, action):
        with monkeypatch.context() as patch:
            patch.setattr(Claim, "_claim", fails)
            with pytest.raises(ValueError, match="no such claim") as failed:
                action.carry_out()
        assert row(desk, Kind.TICKET, SECOND).state == LedgerState.LINKED
        drive(workflow, failed.value)
    desk.hurry()
    assert_forwarded_once(desk, stand_in)


def test_a_claim_that_always_fails_keeps_no_answer_from_its_row_in_a_group_of_one_either(
    desk: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Claim._claim

    def fails(claim: Claim) -> Asked:
        if claim.creation.kind is Kind.TICKET_TASK:
            raise ValueError("no such claim")
        return real(claim)

    with monkeypatch.context() as patch:
        patch.setattr(Claim, "_claim", fails)
        desk.sync_together(SECOND)
    assert row(desk, Kind.TICKET, SECOND).state == LedgerState.LINKED


def test_what_cannot_be_built_keeps_no_answer_from_its_row(
    desk: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise KeyError("what was not thought of")

    with monkeypatch.context() as patch:
        patch.setattr(TimeEntryCreation, "of", fails)
        desk.sync(SECOND)
    assert row(desk, Kind.TICKET, SECOND).state == LedgerState.LINKED
    desk.hurry()
    assert_forwarded_once(desk, stand_in)


def limited(desk: Bridge) -> None:
    connect = Connector(desk.store, Vault(desk.settings.secret_keys), lambda: 0.0).connect
    desk.service = replace(desk.service, connect=connect)


def with_a_template(desk: Bridge) -> None:
    with desk.store.transaction() as tx:
        body = '{"time_entry": {"comments": "of the template"}}'
        tx.templates.activate(tx.templates.create("time_entry.create", "own", body, "a test"), 1, "a test")


def by_nobody(desk: Bridge) -> None:
    desk.receive(task_event(2, of_ticket=ticket(SECOND), of_task=task(SECOND, user=None)))


def by_a_new_member(desk: Bridge) -> None:
    desk.receive(task_event(2, of_ticket=ticket(SECOND), of_task=task(SECOND, user=BOB)))


@pytest.mark.parametrize("needing", [limited, with_a_template, by_nobody, by_a_new_member])
def test_what_needs_more_than_the_link_is_claimed_after_it(
    desk: Bridge, stand_in: StandIn, needing: Any
) -> None:
    """Steps that may wait, call the tracker or take long run only after the answer is recorded."""
    needing(desk)
    asked, workflow = list[type](), desk.service.sync_ticket(SECOND)

    def note(step: Step[Any]) -> bool:
        asked.append(type(step))
        return False

    with pytest.raises(StopIteration):
        up_to(workflow, workflow.send(None), note)
    assert Link in asked
    assert LinkAndClaim not in asked
    assert_forwarded_once(desk, stand_in)
