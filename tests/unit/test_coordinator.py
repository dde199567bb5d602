"""Many tickets go their ways at once: what they ask for is shared, and what holds one up holds up no other."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Self

import pytest
import structlog
from sqlalchemy.exc import OperationalError

from shared.codes.coded import written
from shared.errors import LockBusy
from worker.sync.actions import Together, Way, apart, here
from worker.sync.coordinator import RUNG_PER_WAY, WAYS_PER_CALLER, CallerThreads, Coordinator
from worker.sync.run import Stored

PATIENCE_S = 10.0
Begin = Callable[[int], Way[Any]]


class Asked(Together[int]):
    """Asks for something that is one round trip for all."""

    asked: list[list[int]]

    def __init__(self, ticket_id: int) -> None:
        self.ticket_id = ticket_id

    def carry_out(self) -> int:
        raise AssertionError("it is never asked for alone")

    @classmethod
    def carry_out_all(cls, actions: Sequence[Self]) -> Sequence[int | Exception]:
        cls.asked.append([one.ticket_id for one in actions])
        return [LockBusy(written("busy")) if one.ticket_id < 0 else one.ticket_id * 10 for one in actions]


class Kept(Stored[int]):
    """Keeps something in the store."""

    def __init__(self, book: Book, ticket_id: int, *, fails: Sequence[str] = ()) -> None:
        self._book, self._ticket_id, self._fails = book, ticket_id, fails

    def noted_by(self) -> None:
        pass

    def get_ready(self) -> None:
        if "to get ready" in self._fails:
            raise LockBusy(written("ran out"))

    def within(self, tx: Any) -> int:
        if "always" in self._fails:
            raise ValueError(self._ticket_id)
        tx.kept.append(self._ticket_id)
        return self._ticket_id * 10

    def carry_out(self) -> int:
        with self._book.transaction() as tx:
            return self.within(tx)


class Claimed(Kept):
    """Keeps something before a call."""

    is_sent = True


class Book:
    """Stands for the store: its transactions, and what each has kept."""

    def __init__(self) -> None:
        self.transactions: list[list[int]] = []

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        tx = SimpleNamespace(
            kept=[],
            trace=SimpleNamespace(append=lambda _steps: None),
            wait_briefly=lambda: None,
            need_not_last=lambda: None,
        )
        yield tx
        self.transactions.append(tx.kept)


class Stage:
    """A coordinator, and what became of its ways."""

    def __init__(self) -> None:
        self.book = Book()
        self.ended: dict[int, Any] = {}
        self._made: list[Coordinator] = []

    def coordinator(self, begin: Begin, callers: int = 4) -> Coordinator:
        made = Coordinator(begin, self.book, CallerThreads(callers))  # type: ignore[arg-type]
        self._made.append(made)
        return made

    def drive(self, begin: Begin, *ticket_ids: int, callers: int = 4) -> dict[int, Any]:
        """Drive some tickets; return what became of each."""

        async def way(ticket_id: int) -> None:
            try:
                self.ended[ticket_id] = await begin(ticket_id)
            except Exception as error:
                self.ended[ticket_id] = type(error)
                raise

        self.coordinator(way, callers).drive(ticket_ids)
        return self.ended

    def close(self) -> None:
        for one in self._made:
            one.close()


@pytest.fixture
def stage() -> Iterator[Stage]:
    Asked.asked = []
    made = Stage()
    yield made
    made.close()


def test_what_many_tickets_ask_for_is_one_round_trip(stage: Stage) -> None:
    async def way(ticket_id: int) -> int:
        return await Asked(ticket_id) + await here(int, "1")

    assert stage.drive(way, 1, 2, 3) == {1: 11, 2: 21, 3: 31}
    assert Asked.asked == [[1, 2, 3]]


def test_what_is_refused_to_one_of_them_is_its_own_error(stage: Stage) -> None:
    async def way(ticket_id: int) -> int:
        return await Asked(ticket_id)

    assert stage.drive(way, 1, -2, 3) == {1: 10, -2: LockBusy, 3: 30}


def test_what_many_tickets_keep_is_one_transaction_in_the_order_of_their_keys(stage: Stage) -> None:
    async def way(ticket_id: int) -> int:
        return await Kept(stage.book, ticket_id)

    assert stage.drive(way, 3, 1, 2) == {3: 30, 1: 10, 2: 20}
    assert stage.book.transactions == [[1, 2, 3]]


def test_one_that_fails_harms_nobody_each_is_done_again_alone(stage: Stage) -> None:
    async def way(ticket_id: int) -> int:
        return await Kept(stage.book, ticket_id, fails=["always"] if ticket_id == 2 else [])

    assert stage.drive(way, 1, 2, 3) == {1: 10, 2: ValueError, 3: 30}
    assert sorted(stage.book.transactions) == [[1], [3]]


def test_one_that_is_not_ready_is_left_out_of_the_transaction(stage: Stage) -> None:
    async def way(ticket_id: int) -> int:
        return await Kept(stage.book, ticket_id, fails=["to get ready"] if ticket_id == 2 else [])

    assert stage.drive(way, 1, 2, 3) == {1: 10, 2: LockBusy, 3: 30}
    assert stage.book.transactions == [[1, 3]]


def test_a_slow_call_holds_up_its_own_ticket_only(stage: Stage) -> None:
    others_are_done = threading.Event()

    async def way(ticket_id: int) -> str:
        if ticket_id == 1:
            await apart(others_are_done.wait, PATIENCE_S)
            return "in time" if others_are_done.is_set() else "too late"
        await Kept(stage.book, ticket_id)
        if ticket_id == 3:
            await here(others_are_done.set)
        return "done"

    assert stage.drive(way, 1, 2, 3, callers=2) == {1: "in time", 2: "done", 3: "done"}


def test_a_claim_is_made_only_for_a_caller_that_is_free(stage: Stage) -> None:
    """Its lease would run while it waits for the calls of others."""
    seen: list[list[list[int]]] = []

    async def way(ticket_id: int) -> None:
        await Claimed(stage.book, ticket_id)
        await apart(lambda: seen.append(list(stage.book.transactions)))

    stage.drive(way, 1, 2, 3, callers=1)
    assert seen == [[[1]], [[1], [2]], [[1], [2], [3]]]


def test_a_caller_that_was_kept_for_nothing_is_given_back(stage: Stage) -> None:
    async def way(ticket_id: int) -> str:
        await Claimed(stage.book, ticket_id)
        for _ in range(100):
            if ticket_id == 2 or 2 in stage.ended:
                return "in time"
            await Kept(stage.book, ticket_id)
        return "too late"

    assert stage.drive(way, 1, 2, callers=1) == {1: "in time", 2: "in time"}


def test_a_caller_whose_claim_failed_is_given_back(stage: Stage) -> None:
    async def way(ticket_id: int) -> int:
        return await Claimed(stage.book, ticket_id, fails=["always"] if ticket_id < 3 else [])

    assert stage.drive(way, 1, 2, 3, callers=1) == {1: ValueError, 2: ValueError, 3: 30}


def test_no_more_calls_are_made_at_once_than_there_are_callers(stage: Stage) -> None:
    change, at_once, most = threading.Lock(), [0], [0]
    both = threading.Barrier(2, timeout=PATIENCE_S)

    def call() -> None:
        with change:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        both.wait()
        with change:
            at_once[0] -= 1

    async def way(_ticket_id: int) -> None:
        await apart(call)

    stage.drive(way, *range(1, 9), callers=2)
    assert most == [2]


def test_a_ticket_that_is_rung_while_it_is_on_its_way_goes_once_more_and_never_twice_at_once(
    stage: Stage,
) -> None:
    begun, is_rung, is_over = threading.Event(), threading.Event(), threading.Event()
    went: list[str] = []

    async def way(_ticket_id: int) -> None:
        await apart(went.append, "begins")
        begun.set()
        await apart(is_rung.wait, PATIENCE_S)
        await apart(went.append, "ends")
        if len(went) == 4:
            is_over.set()

    coordinator = stage.coordinator(way)
    coordinator.start()
    coordinator.take([1])
    assert begun.wait(PATIENCE_S)
    coordinator.take([1])
    coordinator.take([1])
    is_rung.set()
    assert is_over.wait(PATIENCE_S)
    assert coordinator.close() == []
    assert went == ["begins", "ends", "begins", "ends"]


def test_whoever_hands_tickets_over_waits_where_too_many_wait_and_gets_them_back_at_the_end(
    stage: Stage,
) -> None:
    """So other processes get the messages that this one has no room for."""
    go_on, ended = threading.Event(), list[int]()

    async def way(ticket_id: int) -> None:
        await apart(go_on.wait, PATIENCE_S)
        await here(ended.append, ticket_id)

    coordinator = stage.coordinator(way, callers=1)
    room = WAYS_PER_CALLER + RUNG_PER_WAY * WAYS_PER_CALLER
    coordinator.start()
    for ticket_id in range(1, room + 1):
        assert coordinator.take([ticket_id]) == []
    refused: list[int] = []
    waiting = threading.Thread(target=lambda: refused.extend(coordinator.take([1000])))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    coordinator.stop()
    waiting.join(PATIENCE_S)
    go_on.set()
    left = coordinator.close()
    assert refused == [1000]
    assert sorted([*ended, *left]) == list(range(1, room + 1))
    assert len(ended) <= WAYS_PER_CALLER, "what had not been begun is left to others"


def test_what_a_way_does_not_handle_ends_it_alone(stage: Stage) -> None:
    async def way(ticket_id: int) -> int:
        if ticket_id == 2:
            raise KeyError(ticket_id)
        return await Kept(stage.book, ticket_id)

    assert stage.drive(way, 1, 2, 3) == {1: 10, 2: KeyError, 3: 30}


def test_what_ends_the_process_ends_every_way(stage: Stage) -> None:
    class Ended(BaseException):
        pass

    def end() -> None:
        raise Ended

    told: list[int] = []

    async def way(ticket_id: int) -> None:
        try:
            await Kept(stage.book, ticket_id)
            if ticket_id == 2:
                await here(end)
            await apart(int, "1")
        finally:
            await here(told.append, ticket_id)

    with pytest.raises(Ended):
        stage.coordinator(way).drive([1, 2, 3])
    assert sorted(told) == [1, 2, 3]


def test_a_coordinator_that_fails_itself_gives_up_its_process(stage: Stage) -> None:
    """Else it would take tickets for ever, and do nothing."""
    given_up = threading.Event()

    class Wrong(Asked):
        @classmethod
        def carry_out_all(cls, actions: Sequence[Self]) -> Sequence[int | Exception]:
            return [1] * (len(actions) + 1)

    async def way(ticket_id: int) -> int:
        return await Wrong(ticket_id)

    failing = Coordinator(way, stage.book, CallerThreads(1), given_up.set)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        failing.start()
        failing.take([1])
        assert given_up.wait(PATIENCE_S)


@pytest.mark.promise("SEC-36")
def test_what_the_database_says_is_logged_by_its_kind_only(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    said = OperationalError("INSERT", {"payload": "hidden-word"}, Exception("DETAIL: (hidden-word)"))

    def refuse() -> None:
        raise said

    async def way(_ticket_id: int) -> None:
        await apart(refuse)

    with structlog.testing.capture_logs() as logged:
        assert stage.drive(way, 1) == {1: OperationalError}
    assert logged or caplog.records
    assert "hidden-word" not in f"{logged} {caplog.text}"
