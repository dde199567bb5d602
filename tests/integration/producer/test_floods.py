"""A source above its limit is slowed down, and every answer of the producer has safe headers for browsers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
import requests
from pydantic import SecretStr
from sqlalchemy import event

from producer.http.buckets import Buckets
from producer.http.problems import Problem
from producer.http.shield import HEADERS
from producer.intake import app as app_module
from producer.intake.deliveries import deliveries
from shared.events.config import PrivateTexts
from shared.events.delivery import Delivery
from shared.store.journal.appending import Accepted
from shared.store.opening import Store
from tests.integration.producer.conftest import SECRET, Run, RunningProducer, refused, secret
from tests.support.events import task_event, ticket, ticket_event

OTHER = secret("another secret")


def many(count: int) -> list[dict[str, Any]]:
    return [ticket_event(of_ticket=ticket(number)) for number in range(1, count + 1)]


@pytest.mark.promise("SEC-19")
def test_a_source_over_its_limit_is_told_to_wait_before_its_events_are_looked_at(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_module, "Buckets", partial(Buckets, clock=lambda: 1000.0))
    producer = run(event_limit=2, webhook_secrets=(SecretStr(SECRET), SecretStr(OTHER)))
    for _ in range(4):
        assert producer.send(many(5)).status_code == 202
    statements: list[str] = []
    event.listen(
        producer.store.database.engine, "before_cursor_execute", lambda *given: statements.append(given[2])
    )
    answer = producer.send(b"not even JSON")
    assert refused(answer, 429)["title"] == "Too many events"
    assert 1 <= int(answer.headers["Retry-After"]) <= 10
    assert statements == []
    assert len(producer.journal()) == 20
    assert producer.send(many(5), with_secret=OTHER).status_code == 202, (
        "another secret has a limit of its own"
    )


@pytest.mark.promise("SEC-19")
def test_the_limit_needs_no_redis_and_waiting_is_enough(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(app_module, "Buckets", partial(Buckets, clock=lambda: now[0]))
    producer = run(event_limit=2)
    assert producer.send(many(25)).status_code == 202, "a large array is never refused for its size alone"
    for _ in range(10):  # requests over the limit use nothing up
        answer = producer.send(task_event())
        assert (refused(answer, 429)["status"], answer.headers["Retry-After"]) == (429, "3")
    now[0] += 3
    assert producer.send(task_event()).status_code == 202
    refused(producer.send(task_event()), 429)


def test_what_is_refused_for_its_faults_counts_too(run: Run) -> None:
    producer = run(event_limit=0.1)
    refused(producer.send({}), 422)
    refused(producer.send({}), 429)


@pytest.mark.promise("SEC-19")
def test_a_large_event_counts_as_several(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_module, "Buckets", partial(Buckets, clock=lambda: 1000.0))
    producer = run(event_limit=10)
    large = ticket_event(of_ticket=ticket(content="x" * 900_000))
    assert [producer.send(large).status_code for _ in range(3)] == [202, 202, 429]


def test_of_large_requests_only_some_are_events_at_the_same_time(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, most, may_end, append = 0, 0, threading.Event(), app_module.append

    def read(body: str, webhook_id: str) -> list[Delivery]:
        nonlocal there, most
        there += 1
        most = max(most, there)
        if there == 3:
            may_end.set()
        return deliveries(body, webhook_id)

    def kept(store: Store, delivered: Sequence[Delivery], *, private_text: PrivateTexts) -> list[Accepted]:
        nonlocal there
        may_end.wait(0.3)
        accepted = append(store, delivered, private_text=private_text)
        there -= len(delivered) // 100
        return accepted

    monkeypatch.setattr(app_module, "ARRAYS_AT_ONCE", 2)
    monkeypatch.setattr(app_module, "ARRAY_BYTES", 16 * 1024)
    monkeypatch.setattr(app_module, "deliveries", read)
    monkeypatch.setattr(app_module, "append", kept)
    producer = run()
    with ThreadPoolExecutor(6) as at_once:
        answers = list(at_once.map(lambda _: producer.send(many(100)), range(6)))
    assert {answer.status_code for answer in answers} == {202}
    assert most == 2
    assert len(producer.journal()) == 600


def test_without_a_limit_nobody_waits(run: Run) -> None:
    producer = run(event_limit=0)
    assert {producer.send(many(5)).status_code for _ in range(20)} == {202}


def test_what_is_not_signed_uses_nothing_of_a_secret_s_limit(run: Run) -> None:
    producer = run(event_limit=0.1)
    for _ in range(5):
        refused(producer.send(task_event(), with_secret=OTHER), 401)
    assert producer.send(task_event()).status_code == 202


@pytest.mark.promise("SEC-29")
@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/openapi.json", "/nothing", "/events"])
def test_every_answer_tells_a_browser_to_do_nothing_with_it(producer: RunningProducer, path: str) -> None:
    for answer in (producer.get(path), producer.http.post(producer.base_url + path, data=b"x", timeout=30)):
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
        assert "Server" not in answer.headers
        assert "Set-Cookie" not in answer.headers


def test_an_unforeseen_fault_is_answered_in_the_same_way(
    producer: RunningProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise KeyError("hidden-word")

    monkeypatch.setattr(app_module, "append", fail)
    answer = producer.send(task_event())
    assert refused(answer, 500)["title"] == "Internal error"
    assert "hidden-word" not in answer.text
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


def test_a_fault_in_what_answers_a_refusal_is_answered_in_the_same_way(
    producer: RunningProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = Problem.response

    def fail_at_first(self: Problem) -> Any:
        if self.status != 500:
            raise KeyError("hidden-word")
        return answered(self)

    monkeypatch.setattr(Problem, "response", fail_at_first)
    answer = producer.post(b"{}")
    assert refused(answer, 500)["title"] == "Internal error"
    assert "hidden-word" not in answer.text
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


@pytest.mark.parametrize("path", ["/events/", "/healthz/", "//evil.example/"])
def test_nobody_is_redirected_anywhere(producer: RunningProducer, path: str) -> None:
    # on a new connection: an idle one may be closed just as it is reused
    answer = requests.get(
        producer.base_url + path, headers={"Host": "evil.example"}, allow_redirects=False, timeout=30
    )
    refused(answer, 404)
    assert "Location" not in answer.headers
