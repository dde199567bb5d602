"""A queue message names several tickets; workers of the version before and after understand each other's."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery
from kombu.messaging import Producer
from kombu.transport.memory import Transport
from pydantic import SecretStr
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from shared.process.settings import Settings
from shared.queue.messages import MOST_TICKETS, NOTHING_READABLE, SYNC_TICKET, message_of, understood
from shared.queue.publisher import Publisher, make_celery, queue_of
from tests.support.together import at_work, called
from worker.celery_tasks import register

HERE = "5ac1"
QUEUE = queue_of(Settings(), HERE).name


def whose() -> str:
    """Return the installation that messages."""
    return HERE


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


DONE = 2


class Begun:
    """Stands for a worker that is handed tickets: its task, those that it has begun, and those that it messages."""

    def __init__(self, callers: int = 4, work: Callable[[int], object] = lambda _: None) -> None:
        self.tickets: list[int] = []
        self.notified: list[int] = []

        async def workflow(ticket_id: int) -> None:
            self.tickets.append(ticket_id)
            await called(work, ticket_id)

        app = Celery("test", set_as_current=False)
        self._stack = ExitStack()
        self.scheduler = self._stack.enter_context(at_work(workflow, callers=callers))
        worker = SimpleNamespace(
            scheduler=self.scheduler,
            service=SimpleNamespace(notify=self.notified.extend),
            watchdog=SimpleNamespace(at_work=nullcontext),
            ability=SimpleNamespace(is_able=True, wait=lambda: True),
            still_due=lambda ticket_ids: [one for one in ticket_ids if one != DONE],
        )
        register(app, worker)  # type: ignore[arg-type]
        self.task = app.tasks[SYNC_TICKET]

    def end(self) -> list[int]:
        """Tell it to end; return what it has not begun."""
        return self.scheduler.close()


def test_several_tickets_are_one_message_up_to_a_bound(redis_url: str) -> None:
    assert Publisher(Settings(redis_url=SecretStr(redis_url)), whose).notify(range(1, MOST_TICKETS + 3))
    with Redis.from_url(redis_url) as redis:
        messages = [json.loads(one) for one in redis.lrange(f"deskbridge:{QUEUE}", 0, -1)]
    messages = sorted((named_in(understood(one)) for one in messages), key=lambda one: one["ticket_id"])
    assert messages == [
        {"ticket_id": 1, "others": list(range(2, MOST_TICKETS + 1))},
        {"ticket_id": MOST_TICKETS + 1, "others": [MOST_TICKETS + 2]},
    ]


def test_a_message_is_what_celery_would_send(redis_url: str) -> None:
    """Workers of any version take it from any broker; only who is answered is left out: nobody answers."""
    settings = Settings(redis_url=SecretStr(redis_url))
    assert Publisher(settings, whose).notify([7, 8])
    with Redis.from_url(redis_url) as redis:
        make_celery(settings, HERE).send_task(SYNC_TICKET, kwargs=message_of([7, 8]), queue=QUEUE)
        theirs, ours = (json.loads(one) for one in redis.lrange(f"deskbridge:{QUEUE}", 0, -1))
    assert without_names(ours) == without_names(theirs)


def test_a_queue_message_goes_where_a_worker_reads_that_is_given_the_same_address(redis_url: str) -> None:
    """Celery takes several, and finds a database there that redis-py would not."""
    address = f"{redis_url.rpartition('/')[0]}/7;redis://127.0.0.1:1/7"
    settings = Settings(redis_url=SecretStr(redis_url), broker_url=SecretStr(address))
    assert Publisher(settings, whose).notify([7])
    with make_celery(settings, HERE).connection_for_read() as connection, connection.channel() as channel:
        assert named_in(channel._get(QUEUE)) == message_of([7])


def test_redis_keeps_nothing_of_what_a_worker_has_taken_and_nothing_is_put_back(redis_url: str) -> None:
    """What it leaves it notifies itself, and what a killed one had the sweep notifies."""
    settings = Settings(redis_url=SecretStr(redis_url))
    assert Publisher(settings, whose).notify([7])
    with Redis.from_url(redis_url) as redis:
        with make_celery(settings, HERE).connection_for_read() as connection, connection.channel() as channel:
            assert channel.basic_get(QUEUE) is not None
            kept = {
                key
                for key in redis.scan_iter("deskbridge:*")
                if b"unacked" in key or key.endswith(QUEUE.encode())
            }
            assert kept == set()
        assert redis.llen(f"deskbridge:{QUEUE}") == 0


def test_a_message_over_another_broker_is_the_same_and_its_queue_is_declared() -> None:
    settings = Settings(broker_url=SecretStr("memory://"))
    publisher = Publisher(settings, whose)
    try:
        assert publisher.notify(range(1, MOST_TICKETS + 2))
        with make_celery(settings, HERE).connection_for_read() as connection, connection.channel() as channel:
            assert Transport.global_state.queue_index[QUEUE], "the queue is declared"
            first, second = (channel._get(QUEUE) for _ in range(2))
            make_celery(settings, HERE).send_task(SYNC_TICKET, kwargs=named_in(second), queue=QUEUE)
            assert without_names(second) == without_names(channel._get(QUEUE))
        assert named_in(first) == message_of(range(1, MOST_TICKETS + 1))
    finally:
        Transport.global_state.clear()  # type: ignore[no-untyped-call]


def without_names(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message without what is unlike in each, or said to nobody."""
    name = message["headers"].pop("id")
    assert message["headers"].pop("root_id") == message["properties"].pop("correlation_id") == name
    for unlike in ("argsrepr", "kwargsrepr", "reply_to", "delivery_tag"):
        message["headers"].pop(unlike, None), message["properties"].pop(unlike, None)
    assert not message["headers"].pop("ignore_result")
    message["properties"]["delivery_info"].pop(
        "routing_key"
    )  # nobody looks at it: the queue's name is the key
    return message


def test_messages_that_leave_together_arrive_also_after_their_connection_was_cut(redis_url: str) -> None:
    publisher = Publisher(Settings(redis_url=SecretStr(redis_url)), whose)
    many = range(1, 3 * MOST_TICKETS + 1)
    assert publisher.notify(many)
    with Redis.from_url(redis_url) as redis:
        own = redis.client_id()
        for client in redis.client_list():
            if int(client["id"]) != own:
                redis.client_kill_filter(_id=client["id"])
        assert publisher.notify(many)
        assert redis.llen(f"deskbridge:{QUEUE}") == 6


@pytest.mark.parametrize("is_used", [True, False], ids=["unnoticed", "at once"])
def test_messages_whose_connection_has_gone_leave_by_another(
    redis_url: str, monkeypatch: pytest.MonkeyPatch, *, is_used: bool
) -> None:
    lpush, failed = Redis.lpush, list[bool]()

    def fail_once(*arguments: Any) -> Any:
        if not failed:
            failed.append(True)
            raise RedisConnectionError("Connection reset by peer")
        return lpush(*arguments)

    publisher = Publisher(Settings(redis_url=SecretStr(redis_url)), whose)
    if is_used:
        assert publisher.notify([1])
    monkeypatch.setattr(Redis, "lpush", fail_once)
    assert publisher.notify(range(1, 3 * MOST_TICKETS + 1))
    with Redis.from_url(redis_url) as redis:
        assert redis.llen(f"deskbridge:{QUEUE}") == 3 + is_used


def test_messages_of_which_no_connection_goes_on_are_left_to_the_sweep(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A queue message that fails is no error, however often it is tried."""

    def fail(*_: object) -> None:
        raise RedisConnectionError("Connection reset by peer")

    publisher = Publisher(Settings(redis_url=SecretStr(redis_url)), whose)
    monkeypatch.setattr(Redis, "lpush", fail)
    assert not publisher.notify([1])


def test_a_queue_message_over_another_broker_whose_channel_is_found_closed_leaves_by_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where a connection breaks while the queue is declared, kombu publishes to a channel that it has closed."""
    publish, failed = Producer.publish, list[bool]()

    def fail_once(*arguments: Any, **options: Any) -> Any:
        if not failed:
            failed.append(True)
            raise AttributeError
        return publish(*arguments, **options)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(Producer, "publish", fail_once)
    try:
        assert Publisher(Settings(broker_url=SecretStr("memory://")), whose).notify([1])
    finally:
        Transport.global_state.clear()  # type: ignore[no-untyped-call]
    assert failed


def test_messages_that_are_lost_together_are_left_to_the_sweep(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RedisError("OOM command not allowed")

    publisher = Publisher(Settings(redis_url=SecretStr(redis_url)), whose)
    monkeypatch.setattr(Redis, "lpush", fail)
    assert not publisher.notify(range(1, 3 * MOST_TICKETS))
    monkeypatch.undo()
    assert publisher.notify([1])


@pytest.mark.parametrize("others", [7, "12", [0], [True], ["2"], [2**63], [1.5], {"2": 1}, None, [[2]]])
def test_others_that_are_no_tickets_make_it_no_message(others: object) -> None:
    assert sent({"ticket_id": 1, "others": others})["body"] == NOTHING_READABLE


def test_more_tickets_than_a_queue_message_names_make_it_no_message() -> None:
    most = list(range(2, MOST_TICKETS + 1))
    assert named_in(sent({"ticket_id": 1, "others": most}))["others"] == most
    assert sent({"ticket_id": 1, "others": [*most, 99]})["body"] == NOTHING_READABLE


def test_what_the_version_before_sends_is_worked_on() -> None:
    worker = Begun()
    worker.task(**named_in(sent({"ticket_id": 7})))
    assert (worker.end(), worker.tickets) in [([], [7]), ([7], [])]


def test_the_version_before_works_on_the_first_of_several_and_the_sweep_notifies_the_others() -> None:
    """Its reader of messages takes `ticket_id` alone, and its task ignores what it does not know."""
    message = message_of([7, 8, 9])
    assert message["ticket_id"] == 7

    def sync_ticket(*, ticket_id: int, **_: object) -> int:
        return ticket_id

    assert sync_ticket(**message) == 7


def test_the_tickets_of_a_message_are_worked_on_side_by_side() -> None:
    together = threading.Barrier(4, timeout=60)
    worker = Begun(work=lambda _ticket_id: together.wait())
    worker.task(**message_of([1, 2, 3]))
    together.wait()
    assert worker.end() == []
    assert sorted(worker.tickets) == [1, 2, 3]


def test_what_was_done_since_the_sweep_rang_is_not_begun() -> None:
    worker = Begun(work=lambda _ticket_id: is_begun.release())
    is_begun = threading.Semaphore(0)
    worker.task(**named_in(sent(message_of([1, DONE, 3], if_due=True))))
    assert all(is_begun.acquire(timeout=60) for _ in range(2))
    worker.task(**named_in(sent(message_of([DONE]))))
    assert is_begun.acquire(timeout=60), "whatever else rings may know of more than events"
    worker.end()
    assert sorted(worker.tickets) == [1, DONE, 3]


@pytest.mark.parametrize("if_due", [1, "yes", None, False, [True]])
def test_a_queue_message_leaves_out_what_is_done_only_where_it_says_so(if_due: object) -> None:
    assert named_in(sent({"ticket_id": 1, "if_due": if_due})) == {"ticket_id": 1}


def test_a_task_does_not_wait_for_its_tickets() -> None:
    """However slow the tracker is, the process is handed what it has room for."""
    go_on = threading.Event()
    worker = Begun(callers=1, work=lambda _ticket_id: go_on.wait(60))
    worker.task(**message_of([1, 2]))
    worker.task(**message_of([3]))
    go_on.set()
    worker.end()


@pytest.mark.parametrize("other", [0, -1, True, "3", 2**63, 1.5, None, [2]])
def test_what_is_no_ticket_is_not_worked_on_and_the_others_of_its_message_are(other: object) -> None:
    """A broker whose messages are not read before Celery does may bring anything."""
    worker = Begun(work=lambda _ticket_id: is_begun.release())
    is_begun = threading.Semaphore(0)
    worker.task(ticket_id=other, others=[1, other, 2])
    worker.task(ticket_id=3, others=other)
    assert all(is_begun.acquire(timeout=60) for _ in range(3))
    assert worker.end() == []
    assert sorted(worker.tickets) == [1, 2, 3]


def test_a_worker_that_is_to_end_notifies_what_it_is_handed() -> None:
    worker = Begun()
    worker.scheduler.stop()
    worker.task(**message_of([1, 2, 3]))
    assert (worker.tickets, worker.notified) == ([], [1, 2, 3])
    worker.end()
