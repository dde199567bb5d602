"""The first page is never green while the drill's oracle misses an effect that has been due for five minutes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import update

from shared.notices.faults import Fault
from shared.redis.heartbeat import BEAT, WORKER, Heartbeats
from shared.store.tables.journal import JournalEvent
from shared.store.tables.types import clock
from tests.drill.expect import expect
from tests.drill.load import Receipt
from tests.drill.oracle import Oracle
from tests.failures.stage import Act, Stage, settings
from tests.failures.test_a_monitor_is_told import of_nobody
from tests.integration.console.pages import Visitor
from tests.support.events import task, task_event, ticket

NUMBER = 7
EVENT = task_event(of_ticket=ticket(NUMBER, title=f"Ticket {NUMBER}"), of_task=task(70))
WAITS_S = 301


def missing(stage: Stage) -> list[str]:
    """Return the differences that the drill's oracle finds for the one accepted event."""
    at = datetime.now(UTC)
    accepted = [(EVENT, Receipt(at, at, event_id=1, times=1))]
    return Oracle(expect(accepted, "5.0"), stage.stand_in.state(), {}).differences()


def alive(stage: Stage) -> None:
    """Record a heartbeat of worker and beat."""
    for process in (WORKER, BEAT):
        Heartbeats(stage.bridge.redis).mark(process)


def faulty(kind: str, **options: Any) -> Act:
    """Make the tracker answer with a fault, and let a worker try."""

    def act(stage: Stage) -> None:
        stage.stand_in.fault(kind, **options)
        stage.bridge.sync(NUMBER)

    return act


def nothing(stage: Stage) -> None:
    """Do nothing: no worker tries, although one has a heartbeat."""


def paused(stage: Stage) -> None:
    """Open the circuit breaker."""
    stage.bridge.breaker.begin(Fault.TRACKER_AWAY(method="GET", path="/users.json"))


def after_another_was_sent(stage: Stage) -> None:
    """Make the last success of another ticket old, then let the tracker fail."""
    with stage.bridge.store.database.transaction() as session:
        session.execute(update(JournalEvent).values(ended_at=clock(-2 * WAITS_S)))
    faulty("status_before", status=502)(stage)


ACTS = [
    pytest.param(nothing, id="no worker tries"),
    pytest.param(paused, id="everything is paused"),
    pytest.param(faulty("status_before", status=502), id="Redmine answers 502"),
    pytest.param(faulty("status_before", status=503), id="Redmine answers 503"),
    pytest.param(faulty("close_before"), id="Redmine closes each connection"),
    pytest.param(faulty("reset_before"), id="Redmine resets each connection"),
    pytest.param(after_another_was_sent, id="Redmine worked before, and answers 502 now"),
]


@pytest.mark.stand_in
@pytest.mark.parametrize("act", ACTS)
def test_it_is_never_green_while_something_due_has_waited_for_five_minutes(
    stage: Stage, pages: Visitor, act: Act
) -> None:
    if act is after_another_was_sent:
        stage.work()
        stage.stand_in.forget()
    stage.bridge.receive(EVENT)
    act(stage)
    with stage.bridge.store.database.transaction() as session:
        waiting = update(JournalEvent).where(JournalEvent.ticket_id == NUMBER)
        session.execute(waiting.values(received_at=clock(-WAITS_S)))
    alive(stage)
    assert [one for one in missing(stage) if one.startswith("lost")], "the oracle misses it"
    pages.open("/console")
    assert "say good" not in pages.page
    assert 'class="say bad"' in pages.page
    stage.stand_in.clear_faults()


@pytest.mark.stand_in
def test_it_is_green_once_the_oracle_misses_nothing(stage: Stage, pages: Visitor) -> None:
    stage.bridge.receive(EVENT)
    stage.bridge.sync(NUMBER)
    alive(stage)
    assert missing(stage) == []
    pages.open("/console")
    assert 'class="say good"' in pages.page


@pytest.mark.stand_in
def test_what_keeps_everything_from_being_sent_comes_before_a_warning_and_before_what_failed(
    stage: Stage, pages: Visitor
) -> None:
    of_nobody(stage)
    settings(closed_moves=[])(stage)
    stage.bridge.receive(EVENT)
    with stage.bridge.store.database.transaction() as session:
        session.execute(
            update(JournalEvent).where(JournalEvent.ticket_id == NUMBER).values(received_at=clock(-WAITS_S))
        )
        session.execute(
            update(JournalEvent).where(JournalEvent.ticket_id != NUMBER).values(state="failed", ended_at=None)
        )
    alive(stage)
    shown = pages.open("/console")
    assert "Events are waiting, and none has been forwarded for five minutes." in shown
    assert shown.index("Events are waiting") < shown.index("1 event")
