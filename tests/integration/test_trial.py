"""Trial mode: everything is planned and recorded, nothing is sent; afterwards waiting events are sent or dropped."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.backfill.replay import replay
from producer.admin.configuration import configuration, trial
from producer.admin.services import Services
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.metadata.synchronisation import synchronise
from shared.notices.kinds import Kind
from shared.store.ledger.send_window import SendWindow
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerState
from tests.support.bridge import Bridge
from tests.support.events import BOB, deletion, task, task_event, ticket, ticket_event
from tests.support.ledger import a_sweep, change_event, entries, ours, row, until_settled
from worker.runtime.service import SyncService
from worker.ticket import trial as planning
from worker.ticket.bodies import built
from worker.ticket.create import create
from worker.ticket.plan import Pending
from worker.ticket.requests import IssueCreation
from worker.ticket.sync import Forwarding

SOLVED, RESOLVED = 5, 3
"""A status in GLPI, and its counterpart in Redmine."""


@pytest.fixture(params=["sqlite", "postgresql"])
def desk(request: pytest.FixtureRequest) -> Bridge:
    """A deskbridge over each of the databases."""
    found: Bridge = request.getfixturevalue("bridge" if request.param == "sqlite" else "bridge_on_postgresql")
    return found


def services(desk: Bridge) -> Services:
    """Return the services of command line and console; tickets that they notify are synced next by the bridge."""
    made = Services(desk.settings, desk.store)
    object.__setattr__(made, "notify", desk._notify)
    return made


def switch_on(desk: Bridge) -> None:
    trial.begin(desk.store)


def writes(stand_in: StandIn) -> list[tuple[str, str]]:
    """Return the requests to Redmine that change something."""
    return [(one["method"], one["path"]) for one in stand_in.requests() if one["method"] != "GET"]


def reasons(desk: Bridge, *event_ids: int) -> list[str | None]:
    return [desk.event(event_id).reason for event_id in event_ids]


def states(desk: Bridge, *event_ids: int) -> list[str]:
    return [desk.event(event_id).state for event_id in event_ids]


def with_issue(desk: Bridge) -> None:
    """Create an issue and a time entry in Redmine, and then switch trial mode on."""
    assert desk.forward(task_event()) == ["done"]
    switch_on(desk)


def test_the_issue_and_the_hours_of_a_new_ticket_are_planned_and_not_sent(
    desk: Bridge, stand_in: StandIn
) -> None:
    switch_on(desk)
    first, second, update = desk.receive(
        task_event(of_task=task(512, date="2026-01-05")),
        task_event(1, of_task=task(513, user=BOB, actiontime=3600)),
        ticket_event(2, of_ticket=ticket(status=SOLVED)),
    )
    desk.sync()
    assert reasons(desk, first, second, update) == [
        "Trial mode: would create an issue in project 1 as alice and log 1.5 h on 2026-01-05 in the new issue as alice",
        "Trial mode: would log 1 h in the new issue as bob",
        "Trial mode: would give the new issue the ticket's status",
    ]
    assert states(desk, first, second, update) == ["pending"] * 3
    assert desk.event(first).attempts == 0
    with desk.store.transaction() as tx:
        assert tx.issues.get(4711) is None, "nothing is claimed"
    assert not writes(stand_in)


def test_hours_and_status_of_a_ticket_that_has_its_issue_are_planned_and_not_sent(
    desk: Bridge, stand_in: StandIn
) -> None:
    with_issue(desk)
    before = writes(stand_in)
    hours, update = desk.receive(
        task_event(1, of_task=task(513)), ticket_event(2, of_ticket=ticket(status=SOLVED))
    )
    desk.sync()
    assert reasons(desk, hours, update) == [
        "Trial mode: would log 1.5 h in issue #6 as alice",
        "Trial mode: would set the status of issue #6 to 3",
    ]
    assert writes(stand_in) == before


def test_projects_and_statuses_are_named_if_the_metadata_knows_them(desk: Bridge) -> None:
    found = services(desk)
    assert synchronise(found.store, found.locks, found.connector.connect)
    with_issue(desk)
    new = ticket(4712)
    update, hours = desk.receive(
        ticket_event(2, of_ticket=ticket(status=SOLVED)), task_event(3, of_ticket=new, of_task=task(600))
    )
    for ticket_id in (4711, 4712):
        desk.sync(ticket_id)
    assert desk.event(update).reason == "Trial mode: would set the status of issue #6 to Resolved"
    assert (desk.event(hours).reason or "").startswith(
        "Trial mode: would create an issue in project Support as"
    )


def test_what_a_template_would_send_is_planned(desk: Bridge, stand_in: StandIn) -> None:
    with desk.store.transaction() as tx:
        for operation, body in (
            ("issue.update_status", '{"issue": {"notes": "seen in GLPI"}}'),
            ("time_entry.create", '{"time_entry": {"hours": 0.5, "user_id": 5}}'),
        ):
            tx.templates.activate(tx.templates.create(operation, operation, body, "a test"), 1, "a test")
    with_issue(desk)
    before = writes(stand_in)
    update, hours = desk.receive(
        ticket_event(2, of_ticket=ticket(status=SOLVED)), task_event(3, of_task=task(513))
    )
    desk.sync()
    assert reasons(desk, hours) == ["Trial mode: would log 0.5 h in issue #6 as alice"]
    (newer,) = desk.receive(ticket_event(4, of_ticket=ticket(status=SOLVED)))
    desk.sync()
    assert reasons(desk, newer) == ["Trial mode: would update issue #6"]
    assert states(desk, update) == ["superseded"]
    assert writes(stand_in) == before


def test_an_event_waits_for_minutes_and_is_not_planned_at_each_sweep(desk: Bridge) -> None:
    with_issue(desk)
    (event_id,) = desk.receive(ticket_event(2, of_ticket=ticket(status=SOLVED)))
    change_event(desk, event_id, received_at=datetime.now(UTC) - timedelta(minutes=1))
    assert a_sweep(desk).notify_due() == 1
    desk.sync()
    desk.notified.clear()
    assert a_sweep(desk).notify_due() == 0, "neither the event, nor the status, which is due by itself"
    with desk.store.transaction() as tx:
        assert tx.journal.waiting().oldest_due is None, (
            "so the alert on the age of due events has nothing to tell"
        )


def test_an_update_that_comes_while_the_issue_waits_waits_too(desk: Bridge) -> None:
    switch_on(desk)
    assert desk.forward(task_event()) == ["pending"]
    (update,) = desk.receive(ticket_event(2, of_ticket=ticket(status=SOLVED)))
    desk.sync()
    (hours,) = desk.receive(task_event(3, of_task=task(513)))
    desk.sync()
    assert reasons(desk, update, hours) == [
        "Trial mode: would give the new issue the ticket's status",
        "Trial mode: would log 1.5 h in the new issue as alice",
    ]


def test_what_needs_no_redmine_ends_as_usual(desk: Bridge, stand_in: StandIn) -> None:
    with_issue(desk)
    before = writes(stand_in)
    elsewhere = ticket(4712, entity_id=99)
    assert desk.forward(task_event(1, of_ticket=elsewhere, of_task=task(600)), ticket_id=4712) == ["skipped"]
    assert desk.forward(task_event(2, of_task=task(513, state=1))) == ["skipped"]
    assert desk.forward(task_event(3)) == ["done"], "its time was logged before"
    older, newer = desk.receive(ticket_event(4), ticket_event(5, of_ticket=ticket(status=SOLVED)))
    desk.sync()
    assert states(desk, older, newer) == ["superseded", "pending"]
    assert writes(stand_in) == before


def test_an_event_that_has_used_up_its_attempts_does_not_fail(desk: Bridge) -> None:
    switch_on(desk)
    (event_id,) = desk.receive(task_event())
    change_event(desk, event_id, attempts=1000)
    desk.sync()
    assert (states(desk, event_id), desk.event(event_id).attempts) == (["pending"], 1000)


def test_what_was_sent_before_the_trial_is_looked_up_and_never_sent_again(
    desk: Bridge, stand_in: StandIn
) -> None:
    stand_in.fault("close_after", method="POST", path="/time_entries.json", count=1)
    (event_id,) = desk.receive(task_event())
    desk.sync()
    assert row(desk, Kind.TICKET_TASK, 512).state == LedgerState.IN_DOUBT
    switch_on(desk)
    before = writes(stand_in)
    until_settled(desk)
    assert row(desk, Kind.TICKET_TASK, 512).state == LedgerState.LINKED
    assert (states(desk, event_id), writes(stand_in)) == (["done"], before)


def test_a_mistake_in_the_plan_sends_nothing(
    desk: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def careless(self: Forwarding, asking: list[Pending]) -> Any:
        creation = await built(self._ctx, IssueCreation.of, self._ctx, self._work, asking[0], 0)
        return (await create(creation, self._work.issue_row))[0]

    monkeypatch.setattr(Forwarding, "_settled_or_new_issue", careless)
    switch_on(desk)
    assert desk.forward(task_event()) == ["pending"]
    assert not writes(stand_in)


def test_what_waited_is_sent_once_when_the_trial_ends(desk: Bridge, stand_in: StandIn) -> None:
    with_issue(desk)
    new = ticket(4712, status=SOLVED)
    ids = desk.receive(
        task_event(1, of_task=task(513)),
        ticket_event(2, of_ticket=ticket(status=SOLVED)),
        task_event(3, of_ticket=new, of_task=task(600)),
    )
    for ticket_id in (4711, 4712):
        desk.sync(ticket_id)
    assert trial.end(services(desk), drops=False) == trial.Ended(was_on=True, sent=3)
    assert sorted(desk.notified) == [4711, 4712]
    for ticket_id in (4711, 4712, 4711, 4712):
        desk.sync(ticket_id)
    assert states(desk, *ids) == ["done"] * 3
    assert [one["status_id"] for one in ours(stand_in)] == [RESOLVED, RESOLVED]
    assert len(entries(stand_in)) == 3


def test_the_setting_alone_ends_it_and_sends_what_waited(desk: Bridge, stand_in: StandIn) -> None:
    configuration.save(services(desk), {"trial": "on"})
    assert desk.forward(task_event()) == ["pending"]
    configuration.save(services(desk), {"trial": "off"})
    desk.sync(*desk.notified)
    assert (len(ours(stand_in)), len(entries(stand_in))) == (1, 1)


def test_what_waited_is_dropped_and_can_be_replayed(desk: Bridge, stand_in: StandIn) -> None:
    with_issue(desk)
    before = writes(stand_in)
    new = ticket(4712)
    ids = desk.receive(
        task_event(1, of_task=task(513)),
        ticket_event(2, of_ticket=ticket(status=SOLVED)),
        task_event(3, of_ticket=new, of_task=task(600)),
    )
    desk.sync()
    assert trial.end(services(desk), drops=True) == trial.Ended(was_on=True, dropped=3), "planned or not"
    a_sweep(desk).notify_due()
    for ticket_id in (4711, 4712):
        desk.hurry()
        desk.sync(ticket_id)
    assert states(desk, *ids) == ["skipped"] * 3
    assert all((reason or "").startswith("dropped after the trial") for reason in reasons(desk, *ids))
    assert writes(stand_in) == before
    assert any("dropped after the trial" in step for step in desk.steps())
    done = replay(services(desk), state=EventState.SKIPPED, code="trial_dropped")
    assert done.events == 3
    for ticket_id in (4711, 4712):
        desk.sync(ticket_id)
    assert states(desk, *ids) == ["done"] * 3
    assert (len(ours(stand_in)), len(entries(stand_in))) == (2, 3)
    assert ours(stand_in)[0]["status_id"] == RESOLVED


def test_many_events_are_dropped_and_none_is_left(desk: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "AT_ONCE", 2)
    switch_on(desk)
    desk.receive(*(task_event(number, of_task=task(number)) for number in range(1, 6)))
    gone = desk.receive(deletion(9, "ticket_task.deleted", task_id=77))
    assert trial.end(services(desk), drops=True).dropped == 5
    assert states(desk, *gone) == ["pending"], "a deletion is never dropped: nothing is sent for it"


def test_nothing_is_dropped_if_the_trial_is_over(desk: Bridge) -> None:
    ids = desk.receive(task_event())
    assert trial.end(services(desk), drops=True) == trial.Ended(was_on=False)
    assert states(desk, *ids) == ["pending"]


def test_the_record_of_changes_says_who_switched_it_and_what_became_of_the_events(desk: Bridge) -> None:
    for drops in (False, True):
        switch_on(desk)
        desk.receive(task_event())
        trial.end(services(desk), drops=drops)
    with desk.store.transaction() as tx:
        told = [str(one.notice.code) for one in tx.changes.find(limit=4)]
    assert told == ["trial_ended_dropping", "trial_begun", "trial_ended_sending", "trial_begun"]


def switching(desk: Bridge, *, at_turn: int) -> SyncService:
    """Return a worker that waits for the rate limit; at a certain turn, a person switches trial mode on."""
    turns = 0

    def wait() -> float:
        nonlocal turns
        turns += 1
        if turns == at_turn:
            switch_on(desk)
        return 0.0

    return replace(
        desk.service, connect=Connector(desk.store, Vault(desk.settings.secret_keys), wait).connect
    )


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([task_event(1, of_task=task(513))], "would log 1.5 h in issue #6 as alice"),
        ([ticket_event(1, of_ticket=ticket(status=SOLVED))], "would set the status of issue #6 to 3"),
    ],
    ids=["hours", "status"],
)
def test_two_workers_send_nothing_once_the_switch_is_committed(
    desk: Bridge, stand_in: StandIn, events: list[dict[str, Any]], reason: str
) -> None:
    assert desk.forward(task_event()) == ["done"]
    before = writes(stand_in)
    (event_id,) = desk.receive(*events)
    other = desk.receive(task_event(5, of_ticket=ticket(4712), of_task=task(700)))
    switching(desk, at_turn=1).sync(4711)
    desk.service.sync(4712)
    assert writes(stand_in) == before
    assert reasons(desk, event_id) == [f"Trial mode: {reason}"]
    assert states(desk, event_id, *other) == ["pending"] * 2


def test_what_was_claimed_before_the_switch_is_completed_and_nothing_follows_it(
    desk: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = SendWindow.check

    def switched(self: SendWindow) -> None:
        monkeypatch.undo()
        switch_on(desk)
        check(self)

    monkeypatch.setattr(SendWindow, "check", switched)
    (event_id,) = desk.receive(task_event())
    desk.sync()
    assert (len(ours(stand_in)), len(entries(stand_in))) == (1, 0)
    assert row(desk, Kind.TICKET, 4711).state == LedgerState.LINKED
    assert reasons(desk, event_id) == ["Trial mode: would log 1.5 h in issue #6 as alice"]


def test_a_worker_that_planned_in_the_trial_does_not_keep_an_event_back_when_it_is_over(
    desk: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch_on(desk)
    (event_id,) = desk.receive(task_event())
    plan = planning.planned

    def slow(*args: Any) -> Any:
        monkeypatch.undo()
        trial.end(services(desk), drops=False)
        return plan(*args)

    monkeypatch.setattr(planning, "planned", slow)
    desk.sync()
    assert (states(desk, event_id), len(entries(stand_in))) == (["done"], 1)
