"""A ring names several tickets; workers of the version before and after understand each other's."""

from __future__ import annotations

import base64
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from pydantic import SecretStr
from redis import Redis

from shared.coordination.doorbell import QUEUE, Doorbell
from shared.coordination.rings import MOST_RUNG_TOGETHER, NOTHING_READABLE, SYNC_TICKET, ring_of, understood
from shared.settings import Settings
from worker.tasks import register


def sent(named: object) -> dict[str, Any]:
    """Return a message as a worker takes it from the queue."""
    body = base64.b64encode(json.dumps([[], named, {}]).encode()).decode()
    return understood(
        {
            "headers": {"task": SYNC_TICKET, "id": "1"},
            "body": body,
            "properties": {"delivery_tag": "1"},
        }
    )


def named_in(message: dict[str, Any]) -> Any:
    return json.loads(base64.b64decode(message["body"]))[1]


def worker_on(tickets: list[int], **parts: Any) -> tuple[Any, list[int]]:
    """Return the task of a worker that notes the tickets it works on, and those that it rings."""
    rung: list[int] = []
    app = Celery("test", set_as_current=False)
    worker = SimpleNamespace(
        service=SimpleNamespace(sync=parts.get("sync", tickets.append), ring=rung.extend),
        watchdog=SimpleNamespace(at_work=nullcontext),
        threads=parts.get("threads") or ThreadPoolExecutor(4),
        stopping=parts.get("stopping") or threading.Event(),
    )
    register(app, worker)  # type: ignore[arg-type]
    return app.tasks[SYNC_TICKET], rung


def test_several_tickets_are_one_message_up_to_a_bound(redis_url: str) -> None:
    assert Doorbell(Settings(redis_url=SecretStr(redis_url))).ring(range(1, MOST_RUNG_TOGETHER + 3))
    with Redis.from_url(redis_url) as redis:
        messages = [json.loads(one) for one in redis.lrange(f"deskbridge:{QUEUE}", 0, -1)]
    rings = sorted((named_in(understood(one)) for one in messages), key=lambda one: one["ticket_id"])
    assert rings == [
        {"ticket_id": 1, "others": list(range(2, MOST_RUNG_TOGETHER + 1))},
        {"ticket_id": MOST_RUNG_TOGETHER + 1, "others": [MOST_RUNG_TOGETHER + 2]},
    ]


@pytest.mark.parametrize("others", [7, "12", [0], [True], ["2"], [2**63], [1.5], {"2": 1}, None, [[2]]])
def test_others_that_are_no_tickets_make_it_no_ring(others: object) -> None:
    assert sent({"ticket_id": 1, "others": others})["body"] == NOTHING_READABLE


def test_more_tickets_than_a_ring_names_make_it_no_ring() -> None:
    most = list(range(2, MOST_RUNG_TOGETHER + 1))
    assert named_in(sent({"ticket_id": 1, "others": most}))["others"] == most
    assert sent({"ticket_id": 1, "others": [*most, 99]})["body"] == NOTHING_READABLE


def test_what_the_version_before_rings_is_worked_on() -> None:
    tickets: list[int] = []
    task, _ = worker_on(tickets)
    task(**named_in(sent({"ticket_id": 7})))
    assert tickets == [7]


def test_the_version_before_works_on_the_first_of_several_and_the_sweep_rings_the_others() -> None:
    """Its reader of messages takes `ticket_id` alone, and its task ignores what it does not know."""
    ring = ring_of([7, 8, 9])
    assert ring["ticket_id"] == 7

    def sync_ticket(*, ticket_id: int, **_: object) -> int:
        return ticket_id

    assert sync_ticket(**ring) == 7  # type: ignore[arg-type]


def test_the_tickets_of_a_message_are_worked_on_side_by_side() -> None:
    together = threading.Barrier(3, timeout=5)
    tickets: list[int] = []

    def sync(ticket_id: int) -> None:
        together.wait()
        tickets.append(ticket_id)

    task, _ = worker_on(tickets, sync=sync)
    task(**ring_of([1, 2, 3]))
    assert sorted(tickets) == [1, 2, 3]


def test_a_worker_that_is_to_end_rings_what_it_has_not_begun() -> None:
    stopping, tickets = threading.Event(), list[int]()

    def sync(ticket_id: int) -> None:
        tickets.append(ticket_id)
        stopping.set()

    task, rung = worker_on(tickets, sync=sync, stopping=stopping, threads=ThreadPoolExecutor(1))
    task(**ring_of([1, 2, 3]))
    assert (tickets, rung) == ([1], [2, 3])
