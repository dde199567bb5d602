"""A request that waited for its turn is sent by current data: settings replaced meanwhile have no effect."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from deploy.sandbox.tracker.control import StandIn
from producer.admin.configuration.configuration import change
from producer.admin.records.transaction import Transaction
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.errors import LeaseExpired
from shared.events.config import PluginConfig
from shared.notices.faults import Fault
from shared.notices.kinds import Kind
from shared.store.configuration.configs import Configs
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.store.ledger.send_window import SendWindow
from shared.store.ledger.statements import Claim
from tests.support.bridge import STATUS_MAP, Bridge
from tests.support.events import BOB, SUPPORT_ENTITY, task, task_event, ticket, ticket_event
from tests.support.ledger import entries, ours
from worker.runtime.service import MOST_PASSES, SyncService
from worker.ticket.impersonation import Sender

OTHER_PROJECT, OTHER_ROLE, BOB_ID = 2, 5, 8
ELSEWHERE = "http://127.0.0.1:9"
Change = Callable[[Transaction], Any]


@pytest.fixture(params=["sqlite", "postgresql"])
def desk(request: pytest.FixtureRequest) -> Bridge:
    """A deskbridge over each of the databases."""
    found: Bridge = request.getfixturevalue("bridge" if request.param == "sqlite" else "bridge_on_postgresql")
    return found


def waiting(desk: Bridge, *, at_turn: int, do: Callable[[], None]) -> SyncService:
    """Return a service with a rate limit that runs `do` while it waits for a certain turn; 0 means every turn."""
    turns = 0

    def wait() -> float:
        nonlocal turns
        turns += 1
        if turns == at_turn or not at_turn:
            do()
        return 0.0

    connect = Connector(desk.store, Vault(desk.settings.secret_keys), wait).connect
    return replace(desk.service, connect=connect)


def stored(desk: Bridge, change: Change) -> Callable[[], None]:
    """Return a function that makes a change and commits it."""

    def do() -> None:
        with desk.store.transaction() as tx:
            change(tx)

    return do


def with_issue(desk: Bridge) -> int:
    """Return a pending event of a ticket task whose ticket has its issue."""
    assert desk.forward(task_event(of_task=task(1))) == ["done"]
    (event_id,) = desk.receive(task_event(1, of_task=task(2, user=BOB)))
    return event_id


def test_an_hour_is_logged_for_whom_a_person_has_named_meanwhile(desk: Bridge, stand_in: StandIn) -> None:
    event_id = with_issue(desk)
    named = stored(desk, lambda tx: tx.people.put_override(BOB_ID, 7))
    waiting(desk, at_turn=1, do=named).sync(4711)
    assert [one["user"] for one in entries(stand_in)[1:]] == ["carol"]
    assert desk.event(event_id).state == "done"


def test_an_override_that_is_removed_meanwhile_counts_no_more(desk: Bridge, stand_in: StandIn) -> None:
    stored(desk, lambda tx: tx.people.put_override(BOB_ID, 7))()
    with_issue(desk)
    gone = stored(desk, lambda tx: tx.people.remove_override(BOB_ID))
    waiting(desk, at_turn=1, do=gone).sync(4711)
    assert [one["user"] for one in entries(stand_in)[1:]] == ["bob"]


def test_an_issue_is_made_in_the_project_that_is_linked_by_then(desk: Bridge, stand_in: StandIn) -> None:
    (event_id,) = desk.receive(task_event())
    link = ProjectMapping(MappingKind.ENTITY, SUPPORT_ENTITY, OTHER_PROJECT, None)
    waiting(desk, at_turn=1, do=stored(desk, lambda tx: tx.mappings.put(link))).sync(4711)
    assert [one["project_id"] for one in ours(stand_in)] == [OTHER_PROJECT]
    assert desk.event(event_id).state == "done"


def test_nothing_is_made_where_no_project_is_linked_any_more(desk: Bridge, stand_in: StandIn) -> None:
    (event_id,) = desk.receive(task_event())
    gone = stored(desk, lambda tx: tx.mappings.remove(MappingKind.ENTITY, SUPPORT_ENTITY))
    waiting(desk, at_turn=1, do=gone).sync(4711)
    assert not ours(stand_in)
    assert desk.event(event_id).state == "skipped"


def test_an_issue_has_the_body_of_the_template_that_is_in_force_by_then(
    desk: Bridge, stand_in: StandIn
) -> None:
    def activate(tx: Transaction) -> None:
        made = tx.templates.create(
            "issue.create", "own", '{"issue": {"subject": "of the template"}}', "a test"
        )
        tx.templates.activate(made, 1, "a test")

    desk.receive(task_event())
    waiting(desk, at_turn=1, do=stored(desk, activate)).sync(4711)
    assert [one["subject"] for one in ours(stand_in)] == ["of the template"]


def test_nothing_is_sent_to_a_tracker_that_was_replaced(desk: Bridge, stand_in: StandIn) -> None:
    (event_id,) = desk.receive(task_event())
    waiting(desk, at_turn=1, do=lambda: desk.configure(base_url=ELSEWHERE)).sync(4711)
    assert not ours(stand_in)
    assert desk.event(event_id).state == "pending"


def test_settings_that_change_at_every_turn_do_not_keep_a_ticket_going_for_ever(
    desk: Bridge, stand_in: StandIn
) -> None:
    desk.receive(task_event())
    turns = list[int]()

    def change_again() -> None:
        turns.append(1)
        desk.configure(status_map={**STATUS_MAP, 5: len(turns)})

    waiting(desk, at_turn=0, do=change_again).sync(4711)
    assert MOST_PASSES <= len(turns) < 2 * MOST_PASSES
    assert desk.notified == [4711], "it is gone on with later"
    assert not ours(stand_in)


def with_newer_status(desk: Bridge) -> int:
    """Return a pending event with a new status of a ticket that has its issue."""
    assert desk.forward(task_event(of_task=task(1))) == ["done"]
    (event_id,) = desk.receive(ticket_event(1, of_ticket=ticket(status=5)))
    return event_id


def test_a_status_is_not_given_under_a_lock_that_was_lost_while_it_waited(
    desk: Bridge, stand_in: StandIn
) -> None:
    """Another worker that holds the lock by then may have set a newer status."""
    event_id = with_newer_status(desk)
    seen = len(stand_in.requests())

    def lose() -> None:
        for held in desk.service.locks._held:
            held.renewed_at = -math.inf

    waiting(desk, at_turn=1, do=lose).sync(4711)
    assert given(stand_in, since=seen) == []
    assert desk.event(event_id).state == "pending"
    desk.sync()
    assert desk.event(event_id).state == "done"


def given(stand_in: StandIn, since: int) -> list[int]:
    """Return the statuses that were sent."""
    sent = [one for one in stand_in.requests(since=since) if one["method"] == "PUT"]
    return [one["body"]["issue"]["status_id"] for one in sent]


def test_a_status_is_given_by_the_map_that_is_in_force_by_then(desk: Bridge, stand_in: StandIn) -> None:
    event_id = with_newer_status(desk)
    seen = len(stand_in.requests())
    mapped = lambda: desk.configure(status_map={**STATUS_MAP, 5: 4})  # noqa: E731
    waiting(desk, at_turn=1, do=mapped).sync(4711)
    assert given(stand_in, seen) == [4]
    assert desk.event(event_id).state == "done"


def test_a_status_is_given_by_the_map_that_is_in_force_without_a_rate_limit_too(
    desk: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its request may have waited for a caller, or for a lookup of its status in the tracker."""
    event_id = with_newer_status(desk)
    seen = len(stand_in.requests())

    def is_known(*_: object) -> bool:
        desk.configure(status_map={**STATUS_MAP, 5: 4})
        return True

    monkeypatch.setattr("worker.ticket.status._is_known", is_known)
    desk.sync()
    assert given(stand_in, seen) == [4]
    assert desk.event(event_id).state == "done"


def test_nobody_is_given_a_role_that_was_replaced_meanwhile(
    desk: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    (event_id,) = desk.receive(task_event())
    real = Sender._ensure_membership

    def ensure(sender: Sender, *args: Any, **how: Any) -> Any:
        desk.configure(default_role_id=OTHER_ROLE)
        return real(sender, *args, **how)

    monkeypatch.setattr(Sender, "_ensure_membership", ensure)
    desk.sync()
    asked = [one["body"] for one in stand_in.requests() if one["path"].endswith("/memberships.json")]
    assert [one["membership"]["role_ids"] for one in asked] == [[OTHER_ROLE]]
    assert desk.event(event_id).state == "done"


def somebody_else_claims(desk: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    with desk.store.transaction() as tx:
        assert tx.issues.claim(Claim(4711, 4711, 1, 1, None, {}, [], "another"), 20)


def the_lease_runs_out(desk: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    def check(_window: SendWindow) -> None:
        raise LeaseExpired(Fault.LEASE_RAN_OUT())

    monkeypatch.setattr(SendWindow, "check", check)


@pytest.mark.parametrize("happens", [somebody_else_claims, the_lease_runs_out])
def test_what_is_put_off_is_due_later_however_long_it_has_waited_for_its_turn(
    desk: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, happens: Callable[..., None]
) -> None:
    """Otherwise it would be due at once, and use up one turn after the other."""
    (event_id,) = desk.receive(task_event())
    before, waited, real = datetime.now(UTC), list[float](), time.monotonic

    def wait() -> None:
        happens(desk, monkeypatch)
        waited.append(300.0)

    monkeypatch.setattr("worker.ticket.context.time", SimpleNamespace(monotonic=lambda: real() + sum(waited)))
    waiting(desk, at_turn=1, do=wait).sync(4711)
    until = desk.event(event_id).next_attempt_at
    assert until is not None
    assert until > before + timedelta(seconds=300)


def test_nobody_claims_while_somebody_replaces_the_tracker(
    bridge_on_postgresql: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The replacement has already checked that no request to the old tracker is under way."""
    desk, real = bridge_on_postgresql, Configs.put

    def claim(kind: Kind) -> int | None:
        with desk.store.transaction() as tx:
            tx.wait_briefly()
            return tx.ledger(kind).claim(Claim(512, 4711, 1, 1, 6, {}, [], "alike"), 20)

    def put(configs: Configs, config: PluginConfig) -> None:
        for kind in Kind:
            with pytest.raises(OperationalError, match="lock timeout"):
                claim(kind)
        real(configs, config)

    monkeypatch.setattr(Configs, "put", put)
    change(desk.store, {"base_url": ELSEWHERE})
    assert claim(Kind.TICKET) == 1
