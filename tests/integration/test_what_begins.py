"""What must not start while a process ends or during a pause: every request except that of a granted claim."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.backfill import recovery
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.errors import NotStarted
from shared.notices.faults import Fault
from shared.notices.kinds import Kind
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.store.tables.ledger import LedgerState
from tests.support.bridge import STATUS_MAP, Bridge
from tests.support.events import task_event, ticket, ticket_event
from tests.support.ledger import entries, ours, row, stopped
from tests.support.together import at_work
from tests.support.workflows import is_admission, is_creation, is_start, workflow_until
from worker.ticket.steps import Step, drive

PATIENCE_S = 60.0
Said = tuple[str, str]
Scene = Callable[[Bridge, StandIn, list[Said]], Bridge]


def walked(desk: Bridge, stand_in: StandIn, asked: list[Said]) -> list[tuple[Step[Any], list[Said]]]:
    """Run a ticket's workflow; return its steps, each with the requests that it made."""
    workflow, steps = desk.service.sync_ticket(4711), list[tuple[Step[Any], list[Said]]]()
    result: Any = None
    error: Exception | None = None
    try:
        while True:
            action = workflow.send(result) if error is None else workflow.throw(error)
            result, error, before = None, None, len(stand_in.requests())
            asked.clear()
            try:
                result = action.carry_out()
            except Exception as fault:  # noqa: BLE001 (it belongs to the way)
                error = fault
            made = [(one["method"], one["path"]) for one in stand_in.requests()[before:]]
            steps.append((action, [*asked, *made]))
    except StopIteration:
        return steps


def a_new_ticket(desk: Bridge, _stand_in: StandIn, _asked: list[Said]) -> Bridge:
    desk.receive(task_event())
    return desk


def a_status(desk: Bridge, _stand_in: StandIn, _asked: list[Said]) -> Bridge:
    desk.forward(task_event())
    desk.receive(ticket_event(5, of_ticket=ticket(status=5)))
    return desk


def a_status_that_is_not_known(desk: Bridge, stand_in: StandIn, asked: list[Said]) -> Bridge:
    a_status(desk, stand_in, asked)
    with desk.store.transaction() as tx:
        tx.metadata.remove([(MetadataKind.STATUS, one) for one in STATUS_MAP.values()])
        tx.metadata.put([Entry(MetadataKind.STATUS, 1, "New")])
    return desk


def an_answer_that_was_lost(desk: Bridge, stand_in: StandIn, _asked: list[Said]) -> Bridge:
    stand_in.fault("reset_after", method="POST", path="/issues.json", count=1)
    desk.forward(task_event())
    desk.hurry()
    return desk


def a_backup_that_was_restored(desk: Bridge, _stand_in: StandIn, _asked: list[Said]) -> Bridge:
    recovery.begin(desk.store, 90)
    desk.receive(task_event())
    return desk


def an_issue_that_was_deleted(desk: Bridge, stand_in: StandIn, asked: list[Said]) -> Bridge:
    a_status(desk, stand_in, asked)
    stand_in.remove("issues", 6)
    return desk


def time_on_an_issue_that_was_deleted(desk: Bridge, stand_in: StandIn, _asked: list[Said]) -> Bridge:
    desk.forward(ticket_event(), task_event())
    stand_in.remove("issues", 6)
    desk.receive(task_event(1, of_task={**task_event()["task"], "id": 600}))
    return desk


def an_issue_that_is_refused(desk: Bridge, stand_in: StandIn, _asked: list[Said]) -> Bridge:
    stand_in.fault("conflict", method="POST", path="/issues.json")
    desk.receive(task_event())
    return desk


def a_status_that_is_refused(desk: Bridge, stand_in: StandIn, asked: list[Said]) -> Bridge:
    a_status(desk, stand_in, asked)
    stand_in.fault("status_before", method="PUT", status=422)
    return desk


def a_tracker_that_was_closed(desk: Bridge, _stand_in: StandIn, _asked: list[Said]) -> Bridge:
    desk.receive(task_event())
    desk.breaker.begin(Fault.TRACKER_CLOSED(method="GET", path="/users.json"), 0)
    return desk


def a_switch_that_is_ignored(desk: Bridge, stand_in: StandIn, _asked: list[Said]) -> Bridge:
    stand_in.fault("switch_ignored", method="POST", path="/issues.json")
    desk.receive(task_event())
    return desk


def a_rate_limit(desk: Bridge, _stand_in: StandIn, asked: list[Said]) -> Bridge:
    def turn() -> float:
        asked.append(("TURN", ""))
        return 0.0

    desk.receive(task_event())
    connect = Connector(desk.store, Vault(desk.settings.secret_keys), turn).connect
    desk.service = replace(desk.service, connect=connect)
    return desk


def a_helpdesk_that_is_asked(desk: Bridge, _stand_in: StandIn, asked: list[Said]) -> Bridge:
    class Lookup:
        def person_of(self, _ticket_id: int, role: str) -> int | None:
            asked.append(("HELPDESK", role))
            return None

        def emails_of(self, _user_id: int) -> list[str]:
            return []

    desk.receive(task_event() | {"incomplete": ["ticket.technician"]})
    completion = replace(desk.service.completion, lookup=Lookup())  # type: ignore[arg-type]
    desk.service = replace(desk.service, completion=completion)
    return desk


@pytest.mark.parametrize(
    ("scene", "expected"),
    [
        (a_new_ticket, ("POST", "/projects/1/memberships.json")),
        (a_new_ticket, ("POST", "/issues.json")),
        (a_status, ("PUT", "/issues/6.json")),
        (a_status_that_is_not_known, ("GET", "/issue_statuses.json")),
        (an_answer_that_was_lost, ("GET", "/issues.json")),
        (a_backup_that_was_restored, ("GET", "/issues.json")),
        (an_issue_that_was_deleted, ("GET", "/issues.json")),
        (time_on_an_issue_that_was_deleted, ("GET", "/issues.json")),
        (an_issue_that_is_refused, ("GET", "/projects/1.json")),
        (a_status_that_is_refused, ("GET", "/projects/1.json")),
        (a_tracker_that_was_closed, ("GET", "/users.json")),
        (a_switch_that_is_ignored, ("GET", "/users.json")),
        (a_rate_limit, ("TURN", "")),
        (a_helpdesk_that_is_asked, ("HELPDESK", "technician")),
    ],
)
def test_every_request_begins_something(
    bridge: Bridge, stand_in: StandIn, scene: Scene, expected: Said
) -> None:
    """A process that ends leaves every starting step to others, and a pause stops it."""
    asked = list[Said]()
    steps = walked(scene(bridge, stand_in, asked), stand_in, asked)
    asking = [(action, made) for action, made in steps if made]
    assert [made for action, made in asking if not is_start(action)] == []
    assert expected in [one for action, made in asking for one in made if is_start(action)]


def test_a_ticket_that_enters_begins_something(bridge: Bridge, stand_in: StandIn) -> None:
    (entering, *others) = [action for action, _ in walked(bridge, stand_in, [])]
    assert is_admission(entering)
    assert is_start(entering)
    assert not [one for one in others if is_admission(one)]


def test_a_worker_that_is_to_end_ends_with_the_calls_that_were_under_way(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of eight tickets, the one whose call is running gets its issue, and all eight are notified."""
    bridge.receive(
        *(
            task_event(of_ticket=ticket(one), of_task={**task_event()["task"], "id": one})
            for one in range(1, 9)
        )
    )
    is_stopped = threading.Event()
    with at_work(bridge.service.sync_ticket, callers=1) as scheduler:

        def stop() -> None:
            scheduler.stop()
            is_stopped.set()

        with stopped("POST", "/issues.json", stop):
            scheduler.take(range(1, 9))
            assert is_stopped.wait(PATIENCE_S)
            left = scheduler.close()
    assert sorted(left) == list(range(1, 9))
    assert (len(ours(stand_in)), len(entries(stand_in))) == (1, 0)


def test_a_claim_whose_call_may_not_begin_any_more_is_free_again_at_once(
    bridge: Bridge, stand_in: StandIn
) -> None:
    """A pause has begun, or the process ends: nothing was sent, so nothing is in doubt."""
    bridge.receive(task_event())
    workflow, _ = workflow_until(bridge, is_creation)
    drive(workflow, NotStarted(Fault.WORKER_ENDS()))
    assert row(bridge, Kind.TICKET, 4711).state == LedgerState.FREE
    assert not ours(stand_in)
    bridge.service.sync(4711)
    assert (len(ours(stand_in)), len(entries(stand_in))) == (1, 1)
