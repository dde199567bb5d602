"""A creation that never gets a clear answer is repeated ever more slowly, and then put on hold for a person."""

from __future__ import annotations

from datetime import timedelta

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.review.held import decide
from shared.notices.kinds import Kind
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerState
from tests.integration.test_in_doubt import ours, row
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket
from worker.ticket.retry import MOST_ATTEMPTS

PASSES = 40


def posts(stand_in: StandIn, path: str = "/issues.json") -> int:
    return sum(one["method"] == "POST" and one["path"] == path for one in stand_in.requests())


def answer_500(stand_in: StandIn, path: str = "/issues.json", *, effect: bool = False) -> None:
    kind = "status_after" if effect else "status_before"
    stand_in.fault(kind, method="POST", path=path, count=1000, status=500)


@pytest.mark.parametrize(
    ("kind", "path"), [(Kind.TICKET, "/issues.json"), (Kind.TICKET_TASK, "/time_entries.json")]
)
def test_a_creation_that_never_gets_a_clear_answer_ends_with_a_person(
    bridge: Bridge, stand_in: StandIn, kind: Kind, path: str
) -> None:
    answer_500(stand_in, path)
    (event,) = bridge.receive(task_event())
    for _ in range(PASSES):
        bridge.sync()
        bridge.hurry()
    assert posts(stand_in, path) == MOST_ATTEMPTS
    key = 4711 if kind is Kind.TICKET else 512
    assert row(bridge, kind, key).state == LedgerState.ON_HOLD
    assert bridge.event(event).state == EventState.ON_HOLD
    stand_in.clear_faults()
    decide(bridge.store, kind, key, None)
    bridge.sync()
    assert bridge.event(event).state == EventState.DONE
    assert posts(stand_in, path) == MOST_ATTEMPTS + 1


def test_a_repeat_never_starts_in_the_pass_that_settled(bridge: Bridge, stand_in: StandIn) -> None:
    answer_500(stand_in)
    bridge.receive(task_event())
    for sync in range(1, 5):
        bridge.sync()
        assert posts(stand_in) == sync
        bridge.hurry()
        bridge.sync()  # resolves: the tracker does not have it
        assert posts(stand_in) == sync
        bridge.hurry()


def test_each_repeat_waits_longer_than_the_one_before(bridge: Bridge, stand_in: StandIn) -> None:
    answer_500(stand_in)
    (event,) = bridge.receive(task_event())
    waits: list[timedelta] = []
    for _ in range(6):
        bridge.sync()
        bridge.hurry()
        bridge.sync()
        due = bridge.event(event).next_attempt_at
        with bridge.store.transaction() as tx:
            assert due is not None
            waits.append(due - tx.now())
        bridge.hurry()
    assert waits[-1] > 8 * waits[0]


def test_one_issue_comes_to_be_however_often_the_text_changes_between_attempts(
    bridge: Bridge, stand_in: StandIn
) -> None:
    answer_500(stand_in, effect=True)
    for number in range(30):
        bridge.receive(task_event(number, of_ticket=ticket(title=f"Title {number}")))
        bridge.sync()
        bridge.hurry()
    assert len(ours(stand_in)) == 1
    assert row(bridge, Kind.TICKET, 4711).tracker_id == ours(stand_in)[0]["id"]


def test_what_an_earlier_attempt_made_is_found_by_the_text_it_had_then(
    bridge: Bridge, stand_in: StandIn
) -> None:
    answer_500(stand_in)
    bridge.receive(task_event(0, of_ticket=ticket(title="As it was first")))
    bridge.sync()
    bridge.hurry()
    bridge.sync()
    bridge.receive(task_event(1, of_ticket=ticket(title="As it is now")))
    bridge.hurry()
    bridge.sync()
    assert posts(stand_in) == 2
    body = row(bridge, Kind.TICKET, 4711).earlier
    assert body is not None
    stand_in.clear_faults()
    made = _create(bridge, body[0])  # it takes effect late
    bridge.hurry()
    bridge.sync()
    assert row(bridge, Kind.TICKET, 4711).tracker_id == made
    assert len(ours(stand_in)) == 1


def test_time_that_changes_between_attempts_is_logged_once(bridge: Bridge, stand_in: StandIn) -> None:
    answer_500(stand_in, "/time_entries.json", effect=True)
    for number in range(20):
        bridge.receive(task_event(number, of_task=task(actiontime=3600 + 60 * number)))
        bridge.sync()
        bridge.hurry()
    assert len(stand_in.state()["time_entries"]) == 1


def _create(bridge: Bridge, body: dict[str, object]) -> int:
    """Let the tracker carry out a request that was sent earlier."""
    with bridge.store.transaction() as tx:
        _, tracker = bridge.service.connect(tx)
    made: int = tracker.call("POST", "/issues.json", body=body).object("issue")["id"]
    return made
