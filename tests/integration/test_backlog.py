"""The number of waiting messages limits the sweep, and the health check uses it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from pydantic import SecretStr
from sqlalchemy.exc import OperationalError

from deploy.sandbox.tracker.control import StandIn
from shared.process.settings import Settings
from shared.queue.celery_app import make_celery, waiting
from shared.queue.names import MOST_TICKETS
from shared.queue.publisher import Publisher
from shared.redis.locks import Locks
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket
from tests.support.ledger import ours
from worker import sweep
from worker.app import Worker
from worker.sweep import MOST_NOTIFIED, Sweep

pytestmark = pytest.mark.promise("OPS-26")


def test_messages_that_wait_are_counted(redis_url: str) -> None:
    settings = Settings(redis_url=SecretStr(redis_url))
    app = make_celery(settings, "5ac1")
    assert waiting(app) == 0
    publisher = Publisher(settings, lambda: "5ac1")
    assert publisher.notify(range(1, 2 * MOST_TICKETS + 2))
    assert waiting(app) == 3
    assert publisher.notify([1], has_priority=True)
    assert waiting(app) == 4


@pytest.mark.parametrize(
    ("backlog", "notified"), [(0, 3), (MOST_NOTIFIED - 1, 1), (MOST_NOTIFIED, 0), (MOST_NOTIFIED * 2, 0)]
)
def test_the_sweep_fills_the_queue_up_to_its_bound(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch, backlog: int, notified: int
) -> None:
    monkeypatch.setattr(sweep, "JUST_NOTIFIED_S", 0.0)
    bridge.receive(*(task_event(of_ticket=ticket(one), of_task=task(one)) for one in (1, 2, 3)))
    tickets: list[int] = []

    def notify(due: list[int]) -> bool:
        tickets.extend(due)
        return True

    Sweep(
        bridge.store,
        bridge.settings,
        Locks(bridge.redis, 60),
        bridge.breaker,
        lambda: backlog,
        notify,
        notify,
    ).notify_due()
    assert len(tickets) == notified


def test_the_sweep_tells_events_from_what_else_is_due(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "JUST_NOTIFIED_S", 0.0)
    bridge.forward(task_event(of_ticket=ticket(1), of_task=task(1)), ticket_id=1)
    assert len(ours(stand_in)) == 1
    with bridge.store.transaction() as tx:
        tx.statuses.give([1])
    bridge.receive(task_event(of_ticket=ticket(2), of_task=task(2)))
    notify, notify_if_due = Mock(return_value=True), Mock(return_value=True)
    swept = Sweep(
        bridge.store,
        bridge.settings,
        Locks(bridge.redis, 60),
        bridge.breaker,
        lambda: 0,
        notify,
        notify_if_due,
    ).notify_due()
    assert swept == 2
    notify.assert_called_once_with([1])
    notify_if_due.assert_called_once_with([2])


def test_what_is_due_still_is_told_by_the_journal_and_everything_is_where_that_fails(bridge: Bridge) -> None:
    bridge.receive(*(task_event(of_ticket=ticket(one), of_task=task(one)) for one in (1, 2)))
    bridge.service.sync(1)
    worker: Any = SimpleNamespace(store=bridge.store)
    assert Worker.still_due(worker, [9, 2, 1]) == [2]
    worker.store = SimpleNamespace(transaction=Mock(side_effect=OperationalError("SELECT", {}, Exception())))
    assert Worker.still_due(worker, [9, 2, 1]) == [9, 2, 1]
