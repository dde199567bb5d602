"""Database and Redis operations of many tickets are executed in batches, and a failure affects only its own ticket."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Self

import pytest
from redis.exceptions import BusyLoadingError
from sqlalchemy.exc import OperationalError

from shared.errors import LockBusy
from tests.support.together import called, claimed
from tests.support.waiting import until
from tests.unit.runtime.scheduling import PATIENCE_S, Claim, LinkAndClaim, Ping, Read, Stage, Write
from worker.runtime.lanes import MOST_TOGETHER, _order
from worker.ticket import context, create, sync
from worker.ticket.context import DbOp


def test_what_many_tickets_ask_of_redis_is_one_round_trip(stage: Stage) -> None:
    async def workflow(ticket_id: int) -> int:
        return await Ping(ticket_id) + 1

    assert stage.drive(workflow, 1, 2, 3) == {1: 11, 2: 21, 3: 31}
    assert Ping.groups == [[1, 2, 3]]


def test_what_gathers_while_redis_is_slow_is_one_round_trip_after_that(stage: Stage) -> None:
    all_begun = threading.Event()

    class Slow(Ping):
        @classmethod
        def execute_many(cls, actions: Sequence[Self]) -> Sequence[int | Exception]:
            assert all_begun.wait(PATIENCE_S)
            return super().execute_many(actions)

    async def workflow(ticket_id: int) -> int:
        if ticket_id > 1:
            await Write(stage.database, ticket_id)
        if ticket_id == 10:
            all_begun.set()
        return await Slow(ticket_id)

    stage.drive(workflow, *range(1, 11), calls=10)
    assert [len(one) for one in Ping.groups] == [1, 9]


def test_what_redis_refuses_to_one_of_them_is_its_own_error(stage: Stage) -> None:
    async def workflow(ticket_id: int) -> int:
        return await Ping(ticket_id)

    assert stage.drive(workflow, 1, -2, 3) == {1: 10, -2: LockBusy, 3: 30}


def test_an_error_of_a_whole_round_trip_is_raised_as_a_copy_in_each_workflow(stage: Stage) -> None:
    """A single error raised in many workflows would collect the tracebacks of all of them."""
    errors = list[BusyLoadingError]()

    class Loading(Ping):
        @classmethod
        def execute_many(cls, actions: Sequence[Self]) -> Sequence[int | Exception]:  # noqa: ARG003
            raise BusyLoadingError("LOADING")

    async def workflow(ticket_id: int) -> None:
        try:
            await Loading(ticket_id)
        except BusyLoadingError as error:
            errors.append(error)
            raise

    assert stage.drive(workflow, 1, 2, 3) == dict.fromkeys((1, 2, 3), BusyLoadingError)
    assert len({id(one) for one in errors}) == 3
    assert [one.args for one in errors] == [("LOADING",)] * 3


def test_a_round_trip_with_too_few_results_is_an_error_of_each(stage: Stage) -> None:
    """Otherwise the tickets without a result would wait forever."""

    class TooFew(Ping):
        @classmethod
        def execute_many(cls, actions: Sequence[Self]) -> Sequence[int | Exception]:
            return super().execute_many(actions)[1:]

    async def workflow(ticket_id: int) -> int:
        return await TooFew(ticket_id)

    assert stage.drive(workflow, 1, 2) == {1: ValueError, 2: ValueError}


def test_operations_of_two_kinds_are_two_round_trips_in_one_group(stage: Stage) -> None:
    class Other(Ping):
        """Another kind of operation."""

    async def workflow(ticket_id: int) -> int:
        return await (Ping if ticket_id % 2 else Other)(ticket_id)

    assert stage.drive(workflow, 1, 2, 3, 4) == {1: 10, 2: 20, 3: 30, 4: 40}
    assert Ping.groups == [[1, 3], [2, 4]]


def test_what_many_tickets_write_is_one_transaction_in_the_order_of_their_ids(stage: Stage) -> None:
    async def workflow(ticket_id: int) -> int:
        return await Write(stage.database, ticket_id)

    assert stage.drive(workflow, 3, 1, 2) == {3: 30, 1: 10, 2: 20}
    assert stage.database.transactions == [[1, 2, 3]]


def test_no_more_operations_share_a_transaction_than_is_good_for_others(stage: Stage) -> None:
    async def workflow(ticket_id: int) -> int:
        return await Write(stage.database, ticket_id)

    stage.drive(workflow, *range(100), calls=100)
    assert {len(one) for one in stage.database.transactions} == {4, MOST_TOGETHER}


def test_when_a_group_fails_each_operation_is_executed_alone(stage: Stage) -> None:
    async def workflow(ticket_id: int) -> int:
        return await Write(stage.database, ticket_id, fails="always" if ticket_id == 2 else "")

    assert stage.drive(workflow, 1, 2, 3) == {1: 10, 2: ValueError, 3: 30}
    assert sorted(stage.database.transactions) == [[1], [3]]


def test_reads_are_a_transaction_of_their_own(stage: Stage) -> None:
    """Whatever delays reads, such as a change of the settings, does not delay results or claims."""

    async def workflow(ticket_id: int) -> int:
        return await (Write if ticket_id < 3 else Read)(stage.database, ticket_id)

    stage.drive(workflow, 3, 4, 1, 2)
    assert sorted(stage.database.transactions) == [[1, 2], [3, 4]]


def test_within_a_group_answers_come_before_claims_and_new_tickets_before_those_that_end() -> None:
    anybody: Any = None
    writes: list[DbOp[Any]] = [
        create.Claim(anybody, None),
        create.LinkAndClaim(anybody, anybody),
        context.Change(anybody, anybody),
        create.Link(anybody, anybody, 1, {}),
    ]
    reads: list[DbOp[Any]] = [sync.HasDueEvents(anybody), sync.Load(anybody, 1, anybody)]

    def in_order(some: list[DbOp[Any]]) -> list[type]:
        return [type(one) for one in sorted(some, key=lambda one: _order(one, 1))]

    assert in_order(writes) == [context.Change, create.Link, create.LinkAndClaim, create.Claim]
    assert in_order(reads) == [sync.Load, sync.HasDueEvents]
    assert [one.lane for one in writes + reads] == ["write"] * 4 + ["read"] * 2


def test_an_operation_that_failed_alone_is_not_executed_again_unless_the_database_refused_it(
    stage: Stage,
) -> None:
    """The database's refusal may have been temporary."""
    tried = list[int]()

    class Tried(Write):
        @classmethod
        def execute_many(cls, tx: Any, operations: Sequence[Self]) -> Sequence[int]:
            tried.extend(one.ticket_id for one in operations)
            return super().execute_many(tx, operations)

    async def workflow(ticket_id: int) -> int:
        return await Tried(stage.database, ticket_id, fails="always" if ticket_id == 1 else "with others")

    assert stage.drive(workflow, 1) == {1: ValueError}
    assert stage.drive(workflow, 2)[2] == 20
    assert tried == [1, 2, 2]


def test_an_answer_with_a_claim_is_always_executed_again_alone(stage: Stage) -> None:
    """The claim may be the reason why it failed."""

    async def workflow(ticket_id: int) -> int:
        return await LinkAndClaim(stage.database, ticket_id, fails="always")

    assert stage.drive(workflow, 1) == {1: ValueError}
    assert stage.database.threads == ["writer", "writer-alone"]


def test_an_answer_that_failed_in_a_group_waits_for_no_call(stage: Stage) -> None:
    """All running calls may be slow."""
    is_linked, order = threading.Event(), list[str]()

    async def workflow(ticket_id: int) -> None:
        if ticket_id == 1:
            await called(lambda: None)
            await claimed(LinkAndClaim(stage.database, ticket_id, fails="with others"))
            order.append("linked")
            is_linked.set()
        else:
            await claimed(Claim(stage.database, ticket_id), called(is_linked.wait, PATIENCE_S))
            order.append("called")

    stage.drive(workflow, 1, 2, 3, 4, calls=2)
    assert order == ["linked", "called", "called", "called"]


def test_a_claim_that_failed_with_others_is_made_in_the_thread_of_its_call(stage: Stage) -> None:
    """So it does not wait behind results, which may take long."""
    executed_in = list[str]()

    class Noted(Claim):
        def carry_out(self) -> int:
            executed_in.append(threading.current_thread().name.split("_")[0])
            return super().carry_out()

    async def workflow(ticket_id: int) -> int:
        return await claimed(Noted(stage.database, ticket_id, fails="with others"))

    stage.drive(workflow, 1, 2, calls=2)
    assert executed_in == ["call", "call"]


def test_what_came_of_a_call_waits_for_nothing_that_is_read(stage: Stage) -> None:
    reads, goes_on = threading.Event(), threading.Event()

    class Slow(Read):
        @classmethod
        def execute_many(cls, tx: Any, operations: Sequence[Self]) -> Sequence[int]:
            reads.set()
            assert goes_on.wait(PATIENCE_S)
            return super().execute_many(tx, operations)

    async def workflow(ticket_id: int) -> None:
        if ticket_id == 1:
            await called(reads.wait, PATIENCE_S)
            await claimed(Claim(stage.database, ticket_id))
            goes_on.set()
        else:
            await Slow(stage.database, ticket_id)

    scheduler = stage.started(workflow)
    scheduler.take([1, 2])
    until(lambda: len(stage.database.transactions) == 2)
    assert stage.database.transactions == [[1], [2]]


class Held(Read):
    """Fails in a batch, and then waits for a lock that someone else holds."""

    is_held: threading.Event
    is_free: threading.Event

    def carry_out(self) -> int:
        self.is_held.set()
        return self.ticket_id if self.is_free.wait(PATIENCE_S) else 0


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> type[Held]:
    for event in ("is_held", "is_free"):
        monkeypatch.setattr(Held, event, threading.Event(), raising=False)
    return Held


def test_what_waits_for_the_settings_alone_keeps_no_claim_and_no_call_waiting(
    stage: Stage, held: type[Held]
) -> None:
    """A person who changes the settings may lock them for long."""

    async def workflow(ticket_id: int) -> int:
        if ticket_id < 5:
            return await held(stage.database, ticket_id, fails="with others")
        await claimed(Claim(stage.database, ticket_id), called(held.is_free.set))
        return ticket_id

    assert stage.drive(workflow, *range(1, 6), calls=2) == {one: one for one in range(1, 6)}


def test_what_came_of_a_call_does_not_wait_behind_what_waits_for_the_settings(
    stage: Stage, held: type[Held]
) -> None:
    async def workflow(ticket_id: int) -> int:
        if ticket_id < 9:
            return await held(stage.database, ticket_id, fails="with others")
        await called(held.is_held.wait, PATIENCE_S)
        written = await Write(stage.database, ticket_id, fails="with others")
        held.is_free.set()
        return written // 10

    assert stage.drive(workflow, *range(1, 10), calls=9) == {one: one for one in range(1, 10)}


def test_the_database_s_own_error_is_each_operation_s_if_it_comes_again(stage: Stage) -> None:
    class Refused(Write):
        @classmethod
        def execute_many(cls, tx: Any, operations: Sequence[Self]) -> Sequence[int]:  # noqa: ARG003
            raise OperationalError("UPDATE", {}, Exception("read-only"))

    async def workflow(ticket_id: int) -> int:
        return await Refused(stage.database, ticket_id)

    assert stage.drive(workflow, 1, 2) == dict.fromkeys((1, 2), OperationalError)
