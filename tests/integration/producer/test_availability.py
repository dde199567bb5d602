"""202 means committed; a broker that is down delays no request; health, readiness and counters."""

from __future__ import annotations

import base64
import json
import signal
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from pydantic import SecretStr
from redis import Redis
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from deploy.embedded.redis import RedisServer
from producer.http import readiness
from producer.intake import notifier as notifier_module
from producer.intake.notifier import Notifier
from shared.queue import celery_app
from tests.integration.producer.conftest import Run, RunningProducer, refused
from tests.support.events import task, task_event, ticket, ticket_event
from tests.support.serving import samples
from tests.support.waiting import until

pytestmark = pytest.mark.promise("OPS-24")

QUEUE = "deskbridge:deskbridge.*"


def notified(url: str, count: int) -> list[int]:
    """Return the tickets that were notified, as soon as there are at least that many."""
    with closing(Redis.from_url(url)) as redis:
        ends = time.monotonic() + 30
        while len(_notified(redis)) < count and time.monotonic() < ends:
            time.sleep(0.01)
        time.sleep(0.05)  # an extra one would arrive now
        return sorted(_notified(redis))


def _notified(redis: Redis) -> list[int]:
    messages = [
        json.loads(message) for queue in redis.scan_iter(QUEUE) for message in redis.lrange(queue, 0, -1)
    ]
    messages = [json.loads(base64.b64decode(message["body"]))[1] for message in messages]
    return [ticket for message in messages for ticket in message["ticket_ids"]]


def test_a_commit_that_fails_is_503_and_nothing_is_kept(producer: RunningProducer) -> None:
    def fail(_session: Session) -> None:
        raise OperationalError("COMMIT", {}, Exception("disk full"))

    event.listen(Session, "before_commit", fail)
    try:
        answer = producer.send([task_event(), ticket_event()], "one")
    finally:
        event.remove(Session, "before_commit", fail)
    refused(answer, 503)
    assert int(answer.headers["Retry-After"]) > 0
    assert "disk full" not in answer.text
    assert producer.journal() == []
    again = producer.send([task_event(), ticket_event()], "one")
    assert [one["duplicate"] for one in again.json()["accepted"]] == [False, False]


def test_a_broker_that_cannot_be_reached_is_no_error_and_delays_nobody(producer: RunningProducer) -> None:
    for number in range(1, 6):
        started = time.monotonic()
        assert producer.send(task_event(of_task=task(number))).status_code == 202
        assert time.monotonic() - started < 5
    assert len(producer.journal()) == 5


def test_a_broker_that_hangs_delays_nobody(
    run: Run, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Waiting for the broker would take a minute, and no sender is that patient."""
    monkeypatch.setattr(celery_app, "PUBLISH_TIMEOUT_S", 60.0)
    redis_server.revive()
    producer = run(redis_url=SecretStr(redis_server.url))
    redis_server.child.send_signal(signal.SIGSTOP)
    try:
        for number in range(1, 4):
            assert producer.send(task_event(of_task=task(number))).status_code == 202
    finally:
        redis_server.child.send_signal(signal.SIGCONT)


def test_each_ticket_is_notified_once_and_a_duplicate_not_at_all(run: Run, redis_url: str) -> None:
    producer = run(redis_url=SecretStr(redis_url))
    events = [task_event(of_task=task(number)) for number in range(1, 6)]
    producer.send([*events, ticket_event(of_ticket=ticket(2))], "one")
    assert notified(redis_url, 2) == [2, 4711]
    producer.send([*events, ticket_event(of_ticket=ticket(2))], "one")
    time.sleep(0.2)
    assert notified(redis_url, 2) == [2, 4711]


def test_what_was_refused_notifies_nobody(run: Run, redis_url: str) -> None:
    producer = run(redis_url=SecretStr(redis_url))
    refused(producer.send([task_event(), {}]), 422)
    producer.send(task_event(of_ticket=ticket(2)))
    assert notified(redis_url, 1) == [2]


def test_requests_at_once_are_all_kept(producer: RunningProducer) -> None:
    with ThreadPoolExecutor(8) as threads:
        answers = list(
            threads.map(lambda number: producer.send(task_event(of_task=task(number))), range(1, 41))
        )
    assert {answer.status_code for answer in answers} == {202}
    assert sorted(row.task_id or 0 for row in producer.journal()) == list(range(1, 41))


def test_the_process_is_healthy_and_ready_without_a_broker(
    producer: RunningProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "FRESH_S", 0.0)
    assert producer.get("/healthz").status_code == 200
    assert producer.get("/livez").status_code == 200
    took = list[float]()
    for _ in range(3):
        started = time.monotonic()
        ready = producer.get("/readyz")
        took.append(time.monotonic() - started)
        assert (ready.status_code, ready.json()) == (200, {"database": "ok", "broker": "unreachable"})
    assert min(took) < 1, "a probe of the platform waits no longer than that"


def test_a_broker_that_answers_is_reported(run: Run, redis_url: str) -> None:
    assert run(redis_url=SecretStr(redis_url)).get("/readyz").json() == {"database": "ok", "broker": "ok"}


def test_without_its_database_the_process_is_healthy_but_not_ready(
    producer: RunningProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from shared.store.tables.database import Database

    monkeypatch.setattr(Database, "takes_writes", lambda _self: False)
    assert producer.get("/healthz").status_code == 200
    deadline = time.monotonic() + 30
    while (ready := producer.get("/readyz")).status_code != 503:
        assert time.monotonic() < deadline, "what was seen is told for a second"
        time.sleep(0.05)
    assert ready.json()["database"] == "unreachable"


def test_the_counters_tell_what_was_accepted_and_refused(run: Run) -> None:
    producer = run()
    before = samples(producer.get("/metrics").text)
    producer.send([task_event(), ticket_event()], "one")
    producer.send([task_event(), ticket_event()], "one")
    producer.send({})
    producer.post(b"{}")
    answer = producer.get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain")
    counted = samples(answer.text) - before
    assert counted["deskbridge_events_accepted_total"] == 2
    assert counted["deskbridge_events_duplicate_total"] == 2
    assert counted['deskbridge_requests_refused_total{status="422"}'] == 1
    assert counted['deskbridge_requests_refused_total{status="401"}'] == 1


def test_the_notifier_survives_whatever_a_broker_s_library_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier_module, "QUIET_S", 0.01)
    tickets: list[int] = []

    def notify(some: object) -> bool:
        tickets.extend(some)  # type: ignore[arg-type]
        if 1 in tickets and 2 not in tickets:
            raise KeyError("broker")
        return True

    notifier = Notifier(notify)
    notifier.start()
    notifier.notify([1])
    while not tickets:
        time.sleep(0.005)
    notifier.notify([2])
    notifier.stop()
    assert tickets == [1, 2]


def test_the_notifier_notifies_what_is_left_before_it_ends() -> None:
    tickets: list[int] = []

    def notify(some: object) -> bool:
        tickets.extend(some)  # type: ignore[arg-type]
        return True

    notifier = Notifier(notify)
    notifier.notify([3, 1])
    notifier.notify([1, 2])
    notifier.start()
    began = time.monotonic()
    notifier.stop()
    assert tickets == [3, 1, 2]
    assert time.monotonic() - began < 5, "nothing is waited for then"


def test_a_ticket_that_comes_alone_after_another_is_notified_at_once_and_many_are_gathered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(notifier_module, "PACE_S", 2.0)
    monkeypatch.setattr(notifier_module, "EACH_S", 0.1)
    notified = list[tuple[list[int], float]]()

    def notify(some: Iterable[int]) -> bool:
        notified.append((list(some), time.monotonic()))
        return True

    notifier = Notifier(notify)
    notifier.start()
    notifier.notify([1])
    until(lambda: len(notified) == 1, lambda: "the first")
    notifier.notify(range(2, 50))
    until(lambda: len(notified) == 2, lambda: "those that came after it")
    for number in range(50, 60):
        notifier.notify([number])
    until(lambda: len(notified) == 3, lambda: "those that came after many")
    notifier.stop()
    assert [len(some) for some, _ in notified] == [1, 48, 10]
    (alone, many, rest) = (at for _, at in notified)
    assert many - alone < 2.0 <= rest - many
