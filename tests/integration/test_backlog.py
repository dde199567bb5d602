"""How many rings wait: what bounds the sweep, and what the watchdog goes by."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from shared.coordination.doorbell import Doorbell, make_celery
from shared.coordination.rings import MOST_RUNG_TOGETHER
from shared.settings import Settings
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket
from worker import sweep
from worker.bootstrap import backlog
from worker.sweep import MOST_RUNG, Sweep

pytestmark = pytest.mark.promise("OPS-26")


def test_rings_that_wait_are_counted(redis_url: str) -> None:
    settings = Settings(redis_url=SecretStr(redis_url))
    app = make_celery(settings)
    assert backlog(app) == 0
    assert Doorbell(settings).ring(range(1, 2 * MOST_RUNG_TOGETHER + 2))
    assert backlog(app) == 3


@pytest.mark.parametrize(
    ("waiting", "rung"), [(0, 3), (MOST_RUNG - 1, 1), (MOST_RUNG, 0), (MOST_RUNG * 2, 0)]
)
def test_the_sweep_fills_the_queue_up_to_its_bound(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch, waiting: int, rung: int
) -> None:
    monkeypatch.setattr(sweep, "JUST_RUNG_S", 0.0)
    bridge.receive(*(task_event(of_ticket=ticket(one), of_task=task(one)) for one in (1, 2, 3)))
    tickets: list[int] = []

    def ring(due: list[int]) -> bool:
        tickets.extend(due)
        return True

    Sweep(bridge.store, bridge.settings, bridge.redis, bridge.pause, lambda: waiting, ring).ring_due()
    assert len(tickets) == rung
