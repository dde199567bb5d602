"""The thread that has read a queue message hands it over; what must wait, or cannot be read, is left to Celery."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery, Task

from shared.queue.messages import SYNC_TICKET, QueueMessage, message_of
from tests.unit.test_queue_messages import Begun
from worker import message_handler as handing

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Channel:
    """Stands for kombu's."""

    no_ack_consumers = None

    def __init__(self) -> None:
        self.acknowledged: list[str] = []

    def decode_body(self, body: str, _encoding: str) -> bytes:
        """Return a body as kombu does."""
        return base64.b64decode(body)

    def basic_ack(self, tag: str, **_: object) -> None:
        """Note what is acknowledged."""
        self.acknowledged.append(tag)


def message(channel: Channel, notify: Mapping[str, Any], **headers: Any) -> QueueMessage:
    body = base64.b64encode(json.dumps([[], notify, {}]).encode()).decode()
    named = {"task": SYNC_TICKET, "id": "1", **headers}
    return QueueMessage(
        {"headers": named, "body": body, "properties": {"delivery_tag": "a tag"}}, channel=channel
    )


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The messages that are left to Celery's threads."""
    messages: list[Any] = []
    monkeypatch.setattr(handing, "default", lambda *_: lambda message, *_others: messages.append(message))
    return messages


def handle(task: Task, one: Any) -> None:
    consumer: Any = SimpleNamespace()
    task.start_strategy(Celery("test", set_as_current=False), consumer)(one, None, None, None, None)


def test_a_queue_message_is_handed_over_by_whoever_has_read_it(left: list[Any]) -> None:
    worker, channel = Begun(), Channel()
    handle(worker.task, message(channel, message_of([1, 2], {2: TRACE})))
    assert channel.acknowledged == ["a tag"]
    assert left == []
    assert sorted([*worker.end(), *worker.tickets]) == [1, 2]


def test_a_queue_message_for_which_there_is_no_room_is_left_to_a_thread_that_may_wait(
    left: list[Any],
) -> None:
    worker, channel = Begun(), Channel()
    worker.scheduler.stop()
    notify = message(channel, message_of([1, 2]))
    handle(worker.task, notify)
    assert left == [notify]
    assert channel.acknowledged == [], "whoever has done it does that"
    assert worker.end() == []


@pytest.mark.parametrize(
    "one",
    [
        message(Channel(), message_of([1], if_due=True)),
        message(Channel(), {"ticket_id": "1"}),
        message(Channel(), message_of([1]), expires="2026-01-01T00:00:00+00:00"),
        SimpleNamespace(body=b"anything", headers={}),
    ],
    ids=[
        "for which the database is asked",
        "that nobody can read",
        "that may be too old",
        "of another broker, read by nobody",
    ],
)
def test_what_is_more_than_to_hand_over_is_left_to_a_thread(left: list[Any], one: Any) -> None:
    worker = Begun()
    handle(worker.task, one)
    assert left == [one]
    assert (worker.end(), worker.tickets) == ([], [])
