"""How a worker waits for a broker that refuses, or that is away."""

from __future__ import annotations

from typing import Any

import pytest
from celery.worker.consumer import Consumer
from celery.worker.state import maybe_shutdown
from redis.exceptions import ConnectionError as Lost
from redis.exceptions import ReadOnlyError, ResponseError

from worker.consumer import AGAIN_S, LONGEST_WAIT_S, PatientConsumer


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited each time."""
    waited: list[float] = []
    monkeypatch.setattr("worker.consumer.time.sleep", waited.append)
    return waited


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> PatientConsumer:
    """A consumer without an application, for which all that Celery does itself is left out."""
    monkeypatch.setattr(Consumer, "on_connection_error_after_connected", lambda *_: None)
    made = PatientConsumer.__new__(PatientConsumer)
    made.channel_errors, made.connection_errors = (ResponseError,), (Lost,)
    return made


def test_a_broker_that_refuses_is_asked_again_after_a_moment(
    consumer: PatientConsumer, waits: list[float]
) -> None:
    consumer.on_connection_error_after_connected(
        ReadOnlyError("You can't write against a read only replica.")
    )
    assert waits == [AGAIN_S]


def test_for_a_connection_that_is_lost_the_next_one_waits_itself(
    consumer: PatientConsumer, waits: list[float]
) -> None:
    consumer.on_connection_error_after_connected(Lost("gone"))
    assert waits == []


def test_the_wait_between_two_attempts_to_connect_stays_short_and_the_worker_can_end_in_it(
    consumer: PatientConsumer,
) -> None:
    asked: dict[str, Any] = {}

    class Connection:
        def ensure_connection(self, errback: Any, max_retries: int | None, **options: Any) -> Connection:
            errback(Lost("refused"), 1.0)
            asked.update(options, max_retries=max_retries)
            return self

    connection = Connection()
    assert consumer.ensure_connected(connection) is connection  # type: ignore[arg-type, comparison-overlap]
    assert asked["max_retries"] is None
    assert asked["interval_max"] == LONGEST_WAIT_S
    assert asked["callback"] is maybe_shutdown
