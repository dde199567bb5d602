"""A queue message names several tickets: what the publisher sends, and how a worker's task handles it."""

from __future__ import annotations

import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from kombu.common import eventloop
from kombu.messaging import Producer
from kombu.transport.memory import Transport
from pydantic import SecretStr
from redis import Redis
from structlog.testing import capture_logs

from shared.process.settings import Settings
from shared.queue.celery_app import make_celery, queue_of
from shared.queue.names import MAINTENANCE, MOST_TICKETS, SWEEP, SYNC_TICKETS
from shared.queue.publisher import Publisher, arguments
from tests.support.queue import queue_key
from tests.support.together import at_work, called
from tests.support.waiting import until
from worker.celery_tasks import register

HERE = "5ac1"
KEY = queue_key(HERE)
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
DONE = 2


def whose() -> str:
    """Return the id of the notifying installation."""
    return HERE


@pytest.fixture
def publisher(redis_url: str) -> Publisher:
    return Publisher(Settings(redis_url=SecretStr(redis_url)), whose)


@pytest.fixture
def redis(redis_url: str) -> Iterator[Redis]:
    with closing(Redis.from_url(redis_url)) as made:
        yield made


@pytest.fixture
def memory() -> Iterator[Settings]:
    """A broker that is not Redis."""
    yield Settings(broker_url=SecretStr("memory://"))
    Transport.global_state.clear()  # type: ignore[no-untyped-call]


def named_in(redis: Redis, key: str = KEY) -> list[dict[str, Any]]:
    """Return the arguments of the messages in a queue, oldest first."""
    messages = [json.loads(one) for one in reversed(redis.lrange(key, 0, -1))]
    return [json.loads(base64.b64decode(one["body"]))[1] for one in messages]


class Begun:
    """A stand-in for a worker with its tasks; it records started tickets, notifications and jobs."""

    def __init__(self, callers: int = 4, work: Callable[[int], object] = lambda _: None) -> None:
        self.tickets, self.jobs = list[int](), list[str]()
        self.notified: list[tuple[list[int], dict[int, str], dict[str, bool]]] = []

        async def workflow(ticket_id: int) -> None:
            self.tickets.append(ticket_id)
            await called(work, ticket_id)

        app = Celery("test", set_as_current=False)
        self._stack = ExitStack()
        self.scheduler = self._stack.enter_context(at_work(workflow, callers=callers))
        worker = SimpleNamespace(
            scheduler=self.scheduler,
            publisher=SimpleNamespace(
                notify=lambda ids, traces, **how: self.notified.append((ids, traces, how))
            ),
            progress=SimpleNamespace(at_work=nullcontext),
            ability=SimpleNamespace(wait=lambda: True),
            still_due=lambda ticket_ids: [one for one in ticket_ids if one != DONE],
        )
        jobs = {
            name: SimpleNamespace(run_soon=lambda name=name: self.jobs.append(name))
            for name in (SWEEP, MAINTENANCE)
        }
        register(app, worker, jobs)  # type: ignore[arg-type]
        self.tasks = app.tasks
        self.task = app.tasks[SYNC_TICKETS]

    def end(self) -> list[int]:
        """Close the scheduler; return the tickets that it has not started."""
        return self.scheduler.close()


def test_several_tickets_are_one_message_up_to_a_bound(publisher: Publisher, redis: Redis) -> None:
    assert publisher.notify(range(1, MOST_TICKETS + 3))
    assert named_in(redis) == [
        {"ticket_ids": list(range(1, MOST_TICKETS + 1))},
        {"ticket_ids": [MOST_TICKETS + 1, MOST_TICKETS + 2]},
    ]


def test_what_a_person_waits_for_has_a_queue_of_its_own(publisher: Publisher, redis: Redis) -> None:
    assert publisher.notify([7], has_priority=True)
    assert named_in(redis) == []
    assert named_in(redis, f"{KEY}.priority") == [{"ticket_ids": [7], "has_priority": True}]


def test_a_worker_takes_all_that_a_person_waits_for_before_anything_else(
    publisher: Publisher, redis_url: str
) -> None:
    taken = list[bool]()
    for _ in range(5):
        assert publisher.notify([1])
        assert publisher.notify([2], has_priority=True)
    app = make_celery(Settings(redis_url=SecretStr(redis_url)), HERE)
    with app.connection_for_read() as connection, connection.channel() as channel:
        app.amqp.TaskConsumer(
            channel, on_message=lambda one: taken.append("has_priority" in one.payload[1])
        ).consume()
        for _ in eventloop(connection, limit=10, timeout=10):  # type: ignore[no-untyped-call]
            pass
    assert taken == [True] * 5 + [False] * 5


def test_nothing_to_notify_is_no_message(publisher: Publisher, redis: Redis) -> None:
    assert publisher.notify([])
    assert named_in(redis) == []


def test_a_message_says_once_what_it_names_and_asks_for_no_result(publisher: Publisher, redis: Redis) -> None:
    assert publisher.notify([4711, 4712])
    (message,) = (json.loads(one) for one in redis.lrange(KEY, 0, -1))
    headers = message["headers"]
    assert headers["task"] == SYNC_TICKETS
    assert headers["ignore_result"] is True
    assert "4711" not in json.dumps({**message, "body": ""})


def test_redis_keeps_no_key_but_the_queue_s(publisher: Publisher, redis: Redis) -> None:
    assert publisher.notify([7])
    assert [key.decode() for key in redis.scan_iter()] == [KEY]


def test_a_queue_message_goes_where_a_worker_reads_that_is_given_the_same_address(redis_url: str) -> None:
    """Celery accepts several addresses in one, and reads a database from it that redis-py would not find."""
    address = f"{redis_url.rpartition('/')[0]}/7;redis://127.0.0.1:1/7"
    settings = Settings(redis_url=SecretStr(redis_url), broker_url=SecretStr(address))
    assert Publisher(settings, whose).notify([7])
    with make_celery(settings, HERE).connection_for_read() as connection, connection.channel() as channel:
        message = channel.basic_get(queue_of(settings, HERE).name)
        assert message.payload[1] == arguments([7])


def test_redis_keeps_nothing_of_what_a_worker_has_taken_and_nothing_is_put_back(
    publisher: Publisher, redis: Redis, redis_url: str
) -> None:
    """A worker notifies the tickets that it leaves; those of a killed worker are notified by the sweep."""
    settings = Settings(redis_url=SecretStr(redis_url))
    assert publisher.notify([7])
    with make_celery(settings, HERE).connection_for_read() as connection, connection.channel() as channel:
        assert channel.basic_get(queue_of(settings, HERE).name) is not None
        assert list(redis.scan_iter()) == []
    assert list(redis.scan_iter()) == []


def test_a_message_over_another_broker_is_the_same_and_its_queue_is_declared(memory: Settings) -> None:
    publisher = Publisher(memory, whose)
    assert publisher.notify(range(1, MOST_TICKETS + 2))
    with make_celery(memory, HERE).connection_for_read() as connection, connection.channel() as channel:
        first, second = (channel.basic_get(queue_of(memory, HERE).name) for _ in range(2))
    assert first.payload[1] == arguments(range(1, MOST_TICKETS + 1))
    assert second.payload[1] == arguments([MOST_TICKETS + 1])


def test_messages_whose_connection_was_cut_leave_by_another(publisher: Publisher, redis: Redis) -> None:
    many = range(1, 3 * MOST_TICKETS + 1)
    assert publisher.notify(many)
    redis.client_kill_filter(_type="normal", skipme=True)
    assert publisher.notify(many)
    assert redis.llen(KEY) == 6


def test_messages_arrive_after_redis_was_emptied(publisher: Publisher, redis: Redis) -> None:
    assert publisher.notify([1])
    redis.flushall()
    assert publisher.notify([2])
    assert named_in(redis) == [arguments([2])]


def test_threads_may_share_a_publisher(publisher: Publisher, redis: Redis) -> None:
    threads = [threading.Thread(target=lambda: [publisher.notify([1]) for _ in range(20)]) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert redis.llen(KEY) == 160


def test_a_broker_that_is_away_is_no_error_and_the_sweep_notifies_later() -> None:
    settings = Settings(broker_url=SecretStr("redis://127.0.0.1:1/0"))
    started = time.monotonic()
    with capture_logs() as lines:
        assert not Publisher(settings, whose).notify([4711])
    assert time.monotonic() - started < 10
    assert "4711" not in str(lines)


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_a_broker_that_accepts_and_never_answers_keeps_nobody_for_long(scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}/"
        started = time.monotonic()
        assert not Publisher(Settings(broker_url=SecretStr(address)), whose).notify([1])
        assert time.monotonic() - started < 15


def test_no_read_from_rabbitmq_and_no_write_to_it_keeps_a_publisher_for_long() -> None:
    app = make_celery(Settings(broker_url=SecretStr("amqp://127.0.0.1:1//")), publish_only=True)
    options = app.connection_for_write().transport_options
    assert {options[one] for one in ("connect_timeout", "read_timeout", "write_timeout")} == {2.0}


def test_a_broker_that_refuses_is_no_error(publisher: Publisher, redis: Redis) -> None:
    redis.set(KEY, "of another type")
    assert not publisher.notify(range(1, 3 * MOST_TICKETS))
    redis.delete(KEY)
    assert publisher.notify([1])


def test_a_channel_that_is_found_closed_is_no_error_and_the_next_message_leaves(
    monkeypatch: pytest.MonkeyPatch, memory: Settings
) -> None:
    """py-amqp raises an AttributeError if a connection breaks while a queue is declared."""

    def fail(*_: object, **__: object) -> None:
        raise AttributeError

    publisher = Publisher(memory, whose)
    monkeypatch.setattr(Producer, "publish", fail)
    assert not publisher.notify([1])
    monkeypatch.undo()
    assert publisher.notify([1])


def test_the_tickets_of_a_message_are_worked_on_side_by_side() -> None:
    together = threading.Barrier(4, timeout=60)
    worker = Begun(work=lambda _ticket_id: together.wait())
    worker.task(**arguments([1, 2, 3]))
    together.wait()
    assert worker.end() == []
    assert sorted(worker.tickets) == [1, 2, 3]


@pytest.mark.parametrize(("if_due", "is_asked"), [(True, True), (1, False), ("yes", False), ([True], False)])
def test_what_was_done_since_the_sweep_notified_is_not_begun(if_due: object, *, is_asked: bool) -> None:
    worker = Begun()
    worker.task(**arguments([1, DONE, 3]) | {"if_due": if_due})
    until(lambda: {1, 3} <= set(worker.tickets))
    worker.end()
    assert (DONE not in worker.tickets) is is_asked


def test_a_task_does_not_wait_for_its_tickets() -> None:
    """So a process gets as many tickets as it has room for, however slow the tracker is."""
    go_on = threading.Event()
    worker = Begun(callers=1, work=lambda _ticket_id: go_on.wait(60))
    worker.task(**arguments([1, 2]))
    worker.task(**arguments([3]))
    go_on.set()
    worker.end()


def test_a_message_for_which_there_is_no_room_goes_back_as_it_was() -> None:
    """So the worker can soon take tickets with priority from the other queue."""
    go_on = threading.Event()
    worker = Begun(callers=1, work=lambda _ticket_id: go_on.wait(60))
    worker.scheduler.take(range(100, 200))
    started = time.monotonic()
    worker.task(**arguments([1, 3], {3: TRACE}, if_due=True))
    assert time.monotonic() - started < 2
    assert worker.notified == [([1, 3], {3: TRACE}, {"if_due": True, "has_priority": False})]
    worker.task(**arguments([7], has_priority=True))
    until(lambda: 7 in worker.tickets)
    go_on.set()
    worker.end()


@pytest.mark.promise("SEC-47")
@pytest.mark.parametrize("other", [0, -1, True, "3", 2**63, 1.5, None, [2], {"2": 1}])
def test_what_is_no_ticket_is_left_out_with_one_warning_that_does_not_quote_it(other: object) -> None:
    worker = Begun()
    with capture_logs() as lines:
        worker.task(ticket_ids=[1, other, 2, other])
    until(lambda: {1, 2} <= set(worker.tickets) and not worker.scheduler.is_at_work)
    assert worker.end() == []
    assert sorted(worker.tickets) == [1, 2]
    assert [line for line in lines if line["log_level"] == "warning"] == [
        {"event": "what a message names beside tickets is left out", "tickets": 2, "log_level": "warning"}
    ]


@pytest.mark.promise("SEC-47")
@pytest.mark.parametrize("named", [7, "12", None, {"1": 2}, [], True])
def test_a_message_that_names_no_tickets_does_nothing(named: object) -> None:
    worker = Begun()
    worker.task(ticket_ids=named, traces=named, if_due=named, has_priority=named, more=named)
    assert (worker.end(), worker.tickets, worker.notified) == ([], [], [])


@pytest.mark.promise("SEC-47")
def test_of_more_tickets_than_a_message_names_the_others_are_left_out() -> None:
    worker = Begun()
    worker.task(ticket_ids=list(range(1, 1000)))
    until(lambda: len(worker.tickets) == MOST_TICKETS)
    worker.end()
    assert len(worker.tickets) == MOST_TICKETS


def test_a_worker_that_is_to_end_notifies_what_it_is_handed() -> None:
    worker = Begun()
    worker.scheduler.stop()
    worker.task(**arguments([1, 2, 3]))
    worker.task(**arguments([4], has_priority=True))
    assert worker.tickets == []
    assert [ids for ids, _, _ in worker.notified] == [[1, 2, 3], [4]]
    worker.end()


def test_what_beat_asks_for_is_done_in_a_thread_of_its_own() -> None:
    worker = Begun()
    worker.tasks[SWEEP]()
    worker.tasks[MAINTENANCE](more=1)
    assert worker.jobs == [SWEEP, MAINTENANCE]
    worker.end()
