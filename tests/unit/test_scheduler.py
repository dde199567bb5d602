"""Many tickets go their ways at once: what they ask for is shared, and what holds one up holds up no other."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any, Self

import pytest
import structlog
from redis.exceptions import BusyLoadingError
from sqlalchemy.exc import OperationalError

from shared.codes.notice import written
from shared.errors import LockBusy, NotBegun, TrackerBusy
from shared.process.alive import alive
from tests.support.together import called, claimed, drive_all, noted
from tests.support.waiting import until
from worker.runtime.scheduler import (
    AHEAD_S,
    LINGER_S,
    MOST_TOGETHER,
    MOST_WAITING,
    Arrive,
    CallerThreads,
    Outcome,
    RunningTicket,
    Scheduler,
    _groups,
)
from worker.ticket.context import Change, DbOp
from worker.ticket.create import Claim, Link, LinkAndClaim
from worker.ticket.steps import Admission, RedisOp, Step, Workflow
from worker.ticket.sync import Leave, Load

PATIENCE_S = 60.0
Begin = Callable[[int], Workflow[Any]]


class Asked(RedisOp[int]):
    """Asks for something that is one round trip for all."""

    asked: list[list[int]]

    def __init__(self, ticket_id: int) -> None:
        self.ticket_id = ticket_id

    def carry_out(self) -> int:
        raise AssertionError("it is never asked for alone")

    @classmethod
    def execute_many(cls, actions: Sequence[Self]) -> Sequence[int | Exception]:
        cls.asked.append([one.ticket_id for one in actions])
        return [LockBusy(written("busy")) if one.ticket_id < 0 else one.ticket_id * 10 for one in actions]


class SettingsCache(DbOp[int]):
    """Keeps something in the store."""

    def __init__(self, book: Book, ticket_id: int, *, fails: str = "") -> None:
        self._book, self._ticket_id, self._fails = book, ticket_id, fails

    def owner(self) -> Any:
        return SimpleNamespace(store=self._book)

    @classmethod
    def execute_many(cls, tx: Any, actions: Sequence[Self]) -> Sequence[int]:
        for one in actions:
            if one._fails == "always":
                raise ValueError(one._ticket_id)
            if one._fails == "with others" and not is_alone():
                raise OperationalError("UPDATE", {}, Exception("deadlock detected"))
        tx.kept.extend(one._ticket_id for one in actions)
        return [one._ticket_id * 10 for one in actions]


class KeptLast(SettingsCache):
    """Keeps something that no call waits for."""

    lane = "read"


class KeptAtTheEnd(KeptLast):
    """Keeps something that can wait for what is new."""

    linger = True
    order = 1


class Claimed(SettingsCache):
    """Keeps something before a call."""

    order = 1


class KeptAndClaimed(SettingsCache):
    """Keeps what was answered, and something before the next call."""

    splits = True


def is_alone() -> bool:
    return threading.current_thread().name.startswith(("caller", "answers", "others"))


class Book:
    """Stands for the store: its transactions, and what each has kept."""

    def __init__(self) -> None:
        self.transactions: list[list[int]] = []

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        tx = SimpleNamespace(
            kept=[],
            trace=SimpleNamespace(append=lambda _steps: None),
            wait_briefly=lambda **_: None,
        )
        yield tx
        self.transactions.append(tx.kept)


class Stage:
    """A scheduler, and what became of its ways."""

    def __init__(self) -> None:
        self.book = Book()
        self.ended: dict[int, Any] = {}
        self.given_up = threading.Event()
        self._made: list[Scheduler] = []

    def scheduler(self, begin: Begin, callers: int = 4) -> Scheduler:
        made = Scheduler(begin, CallerThreads(callers), self.given_up.set)
        self._made.append(made)
        return made

    def drive(self, begin: Begin, *ticket_ids: int, callers: int = 4) -> dict[int, Any]:
        """Drive some tickets; return what became of each."""

        async def workflow(ticket_id: int) -> None:
            try:
                self.ended[ticket_id] = await begin(ticket_id)
            except Exception as error:
                self.ended[ticket_id] = type(error)
                raise

        drive_all(self.scheduler(workflow, callers), ticket_ids)
        return self.ended

    def close(self) -> None:
        for one in self._made:
            one.close(patience=PATIENCE_S)


@pytest.fixture
def stage() -> Iterator[Stage]:
    Asked.asked = []
    made = Stage()
    yield made
    made.close()


def test_what_many_tickets_ask_for_is_one_round_trip(stage: Stage) -> None:
    async def workflow(ticket_id: int) -> int:
        return await Asked(ticket_id) + 1

    assert stage.drive(workflow, 1, 2, 3) == {1: 11, 2: 21, 3: 31}
    assert Asked.asked == [[1, 2, 3]]


@pytest.mark.usefixtures("stage")
def test_what_is_asked_for_while_others_are_asked_for_is_one_round_trip_after_it() -> None:
    """However slow Redis is, as many get through as come."""
    is_asked, go_on, arrived = threading.Event(), threading.Event(), SimpleQueue[Outcome]()

    class Slow(Asked):
        @classmethod
        def execute_many(cls, actions: Sequence[Self]) -> Sequence[int | Exception]:
            is_asked.set()
            go_on.wait(PATIENCE_S)
            return super().execute_many(actions)

    async def workflow(ticket_id: int) -> int:
        return await Slow(ticket_id)

    callers = CallerThreads(1)
    for one in range(1, 11):
        going = RunningTicket(one, workflow(one))
        callers.together([(going, going.workflow.send(None))], lambda _, outcome: arrived.put(outcome))
        assert is_asked.wait(PATIENCE_S)
    go_on.set()
    assert [arrived.get(timeout=PATIENCE_S).result for _ in range(10)] == [10 * one for one in range(1, 11)]
    assert [len(one) for one in Asked.asked] == [1, 9]
    callers.close()


def test_what_is_refused_to_one_of_them_is_its_own_error(stage: Stage) -> None:
    async def workflow(ticket_id: int) -> int:
        return await Asked(ticket_id)

    assert stage.drive(workflow, 1, -2, 3) == {1: 10, -2: LockBusy, 3: 30}


def test_what_many_tickets_keep_is_one_transaction_in_the_order_of_their_keys(stage: Stage) -> None:
    async def workflow(ticket_id: int) -> int:
        return await SettingsCache(stage.book, ticket_id)

    assert stage.drive(workflow, 3, 1, 2) == {3: 30, 1: 10, 2: 20}
    assert stage.book.transactions == [[1, 2, 3]]


def test_one_that_fails_harms_nobody_each_is_done_again_alone(stage: Stage) -> None:
    async def workflow(ticket_id: int) -> int:
        return await SettingsCache(stage.book, ticket_id, fails="always" if ticket_id == 2 else "")

    assert stage.drive(workflow, 1, 2, 3) == {1: 10, 2: ValueError, 3: 30}
    assert sorted(stage.book.transactions) == [[1], [3]]


def test_what_no_call_waits_for_is_a_transaction_of_its_own(stage: Stage) -> None:
    """Whatever holds that up, as a change of the configuration does, holds up no answer and no claim."""

    async def workflow(ticket_id: int) -> int:
        return await (SettingsCache if ticket_id < 3 else KeptLast)(stage.book, ticket_id)

    stage.drive(workflow, 3, 4, 1, 2)
    assert stage.book.transactions == [[1, 2], [3, 4]]


def test_in_a_turn_answers_come_before_claims_and_what_is_new_before_what_is_over() -> None:
    nobody: Any = None
    answers: list[DbOp[Any]] = [
        Claim(nobody, None),
        LinkAndClaim(nobody, nobody),
        Change(nobody, nobody),
        Link(nobody, nobody, 1, {}),
    ]
    reads: list[DbOp[Any]] = [Leave(nobody), Load(nobody, 1, nobody)]

    def in_order(asked: list[DbOp[Any]]) -> list[list[type]]:
        groups = _groups([(RunningTicket(number, nobody), one) for number, one in enumerate(asked)])
        return [[type(one) for _, one in some] for some in groups]

    assert in_order(answers) == [[Change, Link, LinkAndClaim, Claim]]
    assert in_order(reads) == [[Load, Leave]]
    assert [one.lane == "read" for one in answers + reads] == [False] * 4 + [True] * 2


class Clock:
    """Stands still unless it is moved: the scheduler looks at it between the turns that a test has it take.

    Attributes:
        now: in seconds.
    """

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        """Stands for `time.monotonic`."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("worker.runtime.scheduler.time", made)
    return made


def test_what_is_over_is_looked_at_together_with_what_is_new(stage: Stage, clock: Clock) -> None:
    """It waits for tickets that were begun, until they are read or have ended, and for nobody else."""

    async def workflow(ticket_id: int) -> None:
        if ticket_id < 3:
            await Asked(ticket_id)
            await KeptLast(stage.book, ticket_id)
        else:
            await KeptAtTheEnd(stage.book, ticket_id)

    scheduler = Scheduler(workflow, Hands())
    scheduler.take([1, 7])
    turns(scheduler, 3)
    assert stage.book.transactions == []
    scheduler._arrive(scheduler._going[1], Outcome(10))
    turns(scheduler, 1)
    assert stage.book.transactions == [[1, 7]]
    scheduler.take([8, 2])
    turns(scheduler, 3)
    assert stage.book.transactions == [[1, 7]]
    scheduler._arrive(scheduler._going[2], Outcome(error=LockBusy(written("busy"))))
    turns(scheduler, 1)
    assert stage.book.transactions == [[1, 7], [8]]
    scheduler.take([9])
    turns(scheduler, 1)
    assert stage.book.transactions == [[1, 7], [8], [9]]


def test_what_is_over_waits_for_tickets_that_wait_for_room_but_not_for_long(
    stage: Stage, clock: Clock
) -> None:
    async def workflow(ticket_id: int) -> None:
        if ticket_id == 1:
            await KeptAtTheEnd(stage.book, ticket_id)
        else:
            await called(int)

    scheduler = Scheduler(workflow, Hands())
    room = scheduler._most
    scheduler.take(range(2, room + 1))
    turns(scheduler, 3)
    scheduler.take([1])
    turns(scheduler, 1)
    scheduler.take(range(room + 1, room + 4))
    turns(scheduler, 3)
    assert stage.book.transactions == []
    clock.now += LINGER_S
    turns(scheduler, 1)
    assert stage.book.transactions == [[1]]


def test_no_more_are_done_in_one_transaction_than_do_not_hold_up_others(stage: Stage) -> None:
    async def workflow(ticket_id: int) -> int:
        return await SettingsCache(stage.book, ticket_id)

    stage.drive(workflow, *range(100), callers=100)
    assert {len(one) for one in stage.book.transactions} == {4, MOST_TOGETHER}


def test_each_ticket_s_lines_name_it_whoever_else_is_on_its_way(stage: Stage) -> None:
    """In the way's own steps and in whatever a caller carries out for it; in the threads nothing is left."""
    said: list[tuple[int, dict[str, Any]]] = []

    def say(ticket_id: int) -> None:
        said.append((ticket_id, structlog.contextvars.get_contextvars()))

    async def workflow(ticket_id: int) -> None:
        for _ in range(3):
            say(ticket_id)
            await Asked(ticket_id)
            await called(say, ticket_id)

    Asked.asked = []
    stage.drive(workflow, *range(1, 9))
    assert max(map(len, Asked.asked)) > 1, "they took turns"
    assert len(said) == 8 * 6
    assert all(context == {"ticket_id": ticket_id} for ticket_id, context in said)
    assert structlog.contextvars.get_contextvars() == {}


def test_a_slow_call_holds_up_its_own_ticket_only(stage: Stage) -> None:
    others_are_done = threading.Event()

    async def workflow(ticket_id: int) -> str:
        if ticket_id == 1:
            await called(others_are_done.wait, PATIENCE_S)
            return "in time" if others_are_done.is_set() else "too late"
        await SettingsCache(stage.book, ticket_id)
        if ticket_id == 3:
            others_are_done.set()
        return "done"

    assert stage.drive(workflow, 1, 2, 3, callers=2) == {1: "in time", 2: "done", 3: "done"}


def test_a_claim_is_made_only_for_a_caller_that_is_free_or_soon_will_be(stage: Stage, clock: Clock) -> None:
    """Its lease runs while it waits for others' calls, of which as many are expected back as have just come back."""

    async def workflow(ticket_id: int) -> None:
        await claimed(Claimed(stage.book, ticket_id))
        await called(int)

    hands = Hands()
    scheduler = Scheduler(workflow, hands)
    scheduler.take(range(1, 20))
    turns(scheduler, 3)
    assert len(hands.given) == hands.count, "nobody has come back"
    for going, _ in hands.given[:2]:
        scheduler._arrive(going, Outcome())
    turns(scheduler, 2)
    assert len(hands.given) == hands.count + 2 + 2, "two are free, and two more will be"
    turns(scheduler, 3)
    assert len(hands.given) == hands.count + 2 + 2, "nobody else has come back"
    for going, _ in hands.given[2:3]:
        scheduler._arrive(going, Outcome())
    turns(scheduler, 2)
    assert len(hands.given) == hands.count + 3 + 3, "three have come back within so short a time"
    clock.now += 2 * AHEAD_S
    for going, _ in hands.given[3:4]:
        scheduler._arrive(going, Outcome())
    turns(scheduler, 2)
    assert len(hands.given) == hands.count + 3 + 3, "one has: there are more ahead than will be free"


def test_of_a_tracker_that_answers_at_once_more_calls_are_claimed_together_than_are_made_at_once(
    stage: Stage, clock: Clock
) -> None:
    """Each caller comes back several times in the moment that it takes to claim more; but what waits has an end."""

    async def workflow(ticket_id: int) -> None:
        await claimed(Claimed(stage.book, ticket_id))
        await called(int)

    hands, share = Hands(), 2
    fewer: Any = SimpleNamespace(share=share, soon=lambda: None)
    scheduler = Scheduler(workflow, hands, share=fewer)
    scheduler.take(range(1, 200))
    turns(scheduler, 2)
    back, ahead = 0, [0]
    while back < 3 * MOST_TOGETHER:
        for going, _ in hands.given[back : back + share]:
            scheduler._arrive(going, Outcome())
        back += share
        turns(scheduler, 2)
        ahead.append(len(hands.given) - back - share)
        assert ahead[-1] <= min(back, MOST_TOGETHER), "as many as have come back"
    assert max(ahead) > MOST_TOGETHER / 2
    clock.now += 2 * AHEAD_S
    given = len(hands.given)
    for going, _ in hands.given[back : back + 1]:
        scheduler._arrive(going, Outcome())
    turns(scheduler, 2)
    assert len(hands.given) == given, "it has become slow"


def test_whoever_comes_back_to_work_asks_at_once_how_many_calls_it_may_make(stage: Stage) -> None:
    """With the one that it may make until then it would take the first tickets one by one."""
    asked = list[int]()

    async def workflow(ticket_id: int) -> None:
        await called(int)

    share: Any = SimpleNamespace(share=1, soon=lambda: asked.append(1))
    scheduler = Scheduler(workflow, Hands(), share=share)
    scheduler.take([1])
    assert asked == [1]
    turns(scheduler, 1)
    scheduler.take([2])
    assert asked == [1]


def turns(scheduler: Scheduler, count: int) -> None:
    for _ in range(count):
        scheduler.look()
        scheduler._turn()


def test_a_caller_that_was_kept_for_nothing_is_given_back(stage: Stage) -> None:
    async def workflow(ticket_id: int) -> str:
        await claimed(Claimed(stage.book, ticket_id))
        for _ in range(100):
            if ticket_id == 2 or 2 in stage.ended:
                return "in time"
            await SettingsCache(stage.book, ticket_id)
        return "too late"

    assert stage.drive(workflow, 1, 2, callers=1) == {1: "in time", 2: "in time"}


def test_a_caller_whose_claim_failed_is_given_back(stage: Stage) -> None:
    async def workflow(ticket_id: int) -> int:
        return await claimed(Claimed(stage.book, ticket_id, fails="always" if ticket_id < 3 else ""))

    assert stage.drive(workflow, 1, 2, 3, callers=1) == {1: ValueError, 2: ValueError, 3: 30}


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

    async def workflow(_ticket_id: int) -> None:
        await called(call)

    stage.drive(workflow, *range(1, 9), callers=2)
    assert most == [2]


def test_a_ticket_that_is_notified_while_it_is_on_its_way_goes_once_more_and_never_twice_at_once(
    stage: Stage,
) -> None:
    begun, is_notified, is_over = threading.Event(), threading.Event(), threading.Event()
    went: list[str] = []

    async def workflow(_ticket_id: int) -> None:
        await called(went.append, "begins")
        begun.set()
        await called(is_notified.wait, PATIENCE_S)
        await called(went.append, "ends")
        if len(went) == 4:
            is_over.set()

    scheduler = stage.scheduler(workflow)
    scheduler.start()
    scheduler.take([1])
    assert begun.wait(PATIENCE_S)
    scheduler.take([1])
    scheduler.take([1])
    is_notified.set()
    assert is_over.wait(PATIENCE_S)
    assert scheduler.close() == []
    assert went == ["begins", "ends", "begins", "ends"]


def test_whoever_hands_tickets_over_waits_where_too_many_wait_and_gets_them_back_at_the_end(
    stage: Stage,
) -> None:
    """So other processes get the messages that this one has no room for."""
    go_on, ended = threading.Event(), list[int]()

    async def workflow(ticket_id: int) -> None:
        await called(go_on.wait, PATIENCE_S)
        ended.append(ticket_id)

    scheduler = stage.scheduler(workflow, callers=1)
    most = scheduler._most
    room = most + MOST_WAITING
    scheduler.start()
    for ticket_id in range(1, room + 1):
        assert scheduler.take([ticket_id]) == []
    refused: list[int] = []
    waiting = threading.Thread(target=lambda: refused.extend(scheduler.take([1000])))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    assert not scheduler.has_taken([1001]), "who cannot wait is told so"
    scheduler.stop()
    assert not scheduler.has_taken([1001])
    waiting.join(PATIENCE_S)
    go_on.set()
    left = scheduler.close()
    assert refused == [1000]
    assert sorted([*ended, *left]) == list(range(1, room + 1))
    assert len(ended) <= most, "what had not been begun is left to others"


def test_tickets_that_are_under_way_and_notified_once_more_keep_no_other_from_being_taken(
    stage: Stage,
) -> None:
    async def workflow(ticket_id: int) -> None:
        await called(int)

    scheduler = Scheduler(workflow, Hands())
    for _ in range(2):
        for ticket_id in range(scheduler._most):
            assert scheduler.take([ticket_id]) == []
            turns(scheduler, 1)
    taken: list[list[int]] = []
    taking = threading.Thread(target=lambda: taken.append(scheduler.take([1000])), daemon=True)
    taking.start()
    taking.join(PATIENCE_S)
    assert taken == [[]]


def test_what_a_way_does_not_handle_ends_it_alone(stage: Stage) -> None:
    async def workflow(ticket_id: int) -> int:
        if ticket_id == 2:
            raise KeyError(ticket_id)
        return await SettingsCache(stage.book, ticket_id)

    assert stage.drive(workflow, 1, 2, 3) == {1: 10, 2: KeyError, 3: 30}


def test_what_ends_the_process_ends_every_way(stage: Stage) -> None:
    class Ended(BaseException):
        pass

    told: list[int] = []

    async def workflow(ticket_id: int) -> None:
        try:
            await SettingsCache(stage.book, ticket_id)
            if ticket_id == 2:
                raise Ended
            await called(int, "1")
        finally:
            told.append(ticket_id)

    with pytest.raises(Ended):
        drive_all(stage.scheduler(workflow), [1, 2, 3])
    assert sorted(told) == [1, 2, 3]


class Panic(BaseException):
    """What a library in another language raises where it has failed itself."""


class Panicking(Asked):
    """What is shared panics."""

    @classmethod
    def execute_many(cls, actions: Sequence[Self]) -> Sequence[int | Exception]:  # noqa: ARG003
        raise Panic


def panic() -> None:
    raise Panic


async def panic_here(_ticket_id: int) -> None:
    panic()


async def panic_apart(_ticket_id: int) -> None:
    await called(panic)


async def panic_together(ticket_id: int) -> None:
    await Panicking(ticket_id)


async def panic_where_much_is_to_be_done_at_the_end(ticket_id: int) -> None:
    try:
        await called(panic)
    except Panic:
        await called(threading.Event().wait)


def no_way(_ticket_id: int) -> Workflow[Any]:
    raise ValueError


@pytest.mark.parametrize(
    "workflow",
    [no_way, panic_here, panic_apart, panic_together, panic_where_much_is_to_be_done_at_the_end],
)
def test_a_scheduler_that_fails_itself_or_whose_callers_do_gives_up_its_process(
    stage: Stage, workflow: Begin
) -> None:
    """Else it would take tickets for ever, and do nothing."""
    scheduler = stage.scheduler(workflow)
    scheduler.start()
    scheduler.take([1])
    assert stage.given_up.wait(PATIENCE_S)


def test_what_fails_for_all_who_share_it_is_each_one_s_own_error(stage: Stage) -> None:
    """One that is raised in many ways would tell of each of them what befell the others."""
    errors = list[BusyLoadingError]()

    class Loading(Asked):
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


def test_what_is_told_to_too_few_of_those_who_share_it_is_told_to_none(stage: Stage) -> None:
    """Else the others would wait for ever."""

    class TooFew(Asked):
        @classmethod
        def execute_many(cls, actions: Sequence[Self]) -> Sequence[int | Exception]:
            return super().execute_many(actions)[1:]

    async def workflow(ticket_id: int) -> int:
        return await TooFew(ticket_id)

    assert stage.drive(workflow, 1, 2) == {1: ValueError, 2: ValueError}


def test_what_failed_alone_is_not_done_again(stage: Stage) -> None:
    """But where the database says so, which may have been for a moment."""
    tried = list[int]()

    class Tried(SettingsCache):
        @classmethod
        def execute_many(cls, tx: Any, actions: Sequence[Self]) -> Sequence[int]:
            tried.extend(one._ticket_id for one in actions)
            return super().execute_many(tx, actions)

    async def workflow(ticket_id: int) -> int:
        return await Tried(stage.book, ticket_id, fails="always" if ticket_id == 1 else "with others")

    assert stage.drive(workflow, 1) == {1: ValueError}
    assert stage.drive(workflow, 2)[2] == 20
    assert tried == [1, 2, 2]


def test_what_was_answered_is_always_done_again_alone_since_it_may_have_failed_for_its_claim(
    stage: Stage,
) -> None:
    threads = list[str]()

    class Tried(KeptAndClaimed):
        @classmethod
        def execute_many(cls, tx: Any, actions: Sequence[Self]) -> Sequence[int]:
            threads.append(threading.current_thread().name.split("-")[0])
            return super().execute_many(tx, actions)

    async def workflow(ticket_id: int) -> int:
        return await Tried(stage.book, ticket_id, fails="always")

    assert stage.drive(workflow, 1) == {1: ValueError}
    assert threads[1:] == ["answers"]


def test_what_was_answered_and_failed_in_a_group_waits_for_no_slow_call(stage: Stage) -> None:
    """Though its ticket keeps a caller for what is claimed with it, they may all be at others' calls."""
    is_kept, order = threading.Event(), list[str]()

    async def workflow(ticket_id: int) -> None:
        if ticket_id == 1:
            await called(lambda: None)
            await claimed(KeptAndClaimed(stage.book, ticket_id, fails="with others"))
            order.append("kept")
            is_kept.set()
        else:
            await claimed(Claimed(stage.book, ticket_id))
            await called(is_kept.wait, PATIENCE_S)
            order.append("called")

    stage.drive(workflow, 1, 2, 3, 4, callers=2)
    assert order == ["kept", "called", "called", "called"]


@pytest.mark.parametrize("is_limited", [False, True])
def test_where_calls_wait_for_a_rate_limit_a_ticket_begins_once_a_caller_is_free(
    stage: Stage, *, is_limited: bool
) -> None:
    """What it knows would grow old while it waits, and to wait is all that it could do."""
    several, on_their_way = threading.Event(), set[int]()

    async def workflow(ticket_id: int) -> None:
        on_their_way.add(ticket_id)
        if len(on_their_way) > 1:
            several.set()
        await called(several.wait, 0.2)
        on_their_way.discard(ticket_id)

    callers = CallerThreads(1)
    drive_all(Scheduler(workflow, callers, is_limited=is_limited), [1, 2, 3])
    callers.close()
    assert several.is_set() is not is_limited


def test_with_a_rate_limit_a_slow_ticket_holds_up_no_other(stage: Stage) -> None:
    the_last = threading.Event()

    async def workflow(ticket_id: int) -> None:
        if ticket_id == 1:
            await called(the_last.wait, PATIENCE_S)
        elif ticket_id == 5:
            the_last.set()
        else:
            await called(lambda: None)
        in_time.append(the_last.is_set() or ticket_id != 1)

    in_time = list[bool]()
    callers = CallerThreads(2)
    drive_all(Scheduler(workflow, callers, is_limited=True), [1, 2, 3, 4, 5])
    callers.close()
    assert in_time == [True] * 5


def test_what_is_told_of_a_call_waits_for_no_caller(stage: Stage) -> None:
    """Others may have all of them for long."""
    told, calls = threading.Event(), threading.Semaphore(0)

    async def workflow(ticket_id: int) -> None:
        await SettingsCache(stage.book, ticket_id)
        if ticket_id == 2:
            await noted(told.set)
        else:
            assert await called(calls.acquire, timeout=PATIENCE_S)

    scheduler = stage.scheduler(workflow, callers=1)
    scheduler.start()
    try:
        scheduler.take([1, 2])
        assert told.wait(PATIENCE_S)
    finally:
        calls.release()


def test_a_scheduler_whose_database_never_answers_is_stuck(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that nobody answers on holds up everybody: it is not at work."""
    monkeypatch.setattr("worker.runtime.scheduler.LONGEST_WAIT_S", 0.0)
    asked, answers = threading.Event(), threading.Event()

    class Waiting(SettingsCache):
        @classmethod
        def execute_many(cls, tx: Any, actions: Sequence[Self]) -> Sequence[int]:
            asked.set()
            answers.wait(PATIENCE_S)
            return super().execute_many(tx, actions)

    async def workflow(ticket_id: int) -> int:
        return await Waiting(stage.book, ticket_id)

    scheduler = stage.scheduler(workflow)
    scheduler.start()
    assert scheduler.stuck_since is None
    scheduler.take([1])
    assert asked.wait(PATIENCE_S)
    since = scheduler.stuck_since
    assert since is not None
    assert scheduler.stuck_since == since
    answers.set()
    assert scheduler.close() == []
    assert scheduler.stuck_since is None


class Hanging(Asked):
    """What is shared hangs."""

    @classmethod
    def execute_many(cls, actions: Sequence[Self]) -> Sequence[int | Exception]:
        hang()
        return super().execute_many(actions)


class HangingRead(KeptLast):
    """What is read hangs."""

    @classmethod
    def execute_many(cls, tx: Any, actions: Sequence[Self]) -> Sequence[int]:
        hang()
        return super().execute_many(tx, actions)


class HangingAlone(SettingsCache):
    """What is done again hangs."""

    def carry_out(self) -> int:
        hang()
        return 0


hangs, goes_on = threading.Event(), threading.Event()


def hang() -> None:
    hangs.set()
    goes_on.wait(PATIENCE_S)


def test_what_came_of_a_call_waits_for_nothing_that_is_read(stage: Stage) -> None:
    """Nor is anything read meanwhile that has come since: it is read together afterwards."""
    reads, goes_on = threading.Event(), threading.Event()

    class Read(KeptLast):
        @classmethod
        def execute_many(cls, tx: Any, actions: Sequence[Self]) -> Sequence[int]:
            reads.set()
            assert goes_on.wait(PATIENCE_S)
            return super().execute_many(tx, actions)

    async def workflow(ticket_id: int) -> None:
        if ticket_id == 1:
            await called(reads.wait, PATIENCE_S)
            scheduler.take([3, 4])
            await claimed(Claimed(stage.book, ticket_id))
            until(lambda: scheduler._to_read)
            goes_on.set()
        else:
            await Read(stage.book, ticket_id)

    scheduler = stage.scheduler(workflow)
    scheduler.take([1, 2])
    scheduler.start()
    until(lambda: len(stage.book.transactions) == 3)
    assert stage.book.transactions == [[1], [2], [3, 4]]


@pytest.mark.parametrize(
    ("tickets", "where"), [([1], {"MainThread"}), ([1, 2], {"shared", "reader"})], ids=["one", "more"]
)
def test_what_a_single_ticket_asks_for_crosses_no_thread(
    stage: Stage, tickets: list[int], where: set[str]
) -> None:
    """Handed to another and back it would take longer; several have theirs done beside whoever coordinates, here us."""
    seen = set[str]()

    class Shared(Asked):
        @classmethod
        def execute_many(cls, actions: Sequence[Self]) -> Sequence[int | Exception]:
            seen.add(threading.current_thread().name)
            return super().execute_many(actions)

    class Read(KeptLast):
        @classmethod
        def execute_many(cls, tx: Any, actions: Sequence[Self]) -> Sequence[int]:
            seen.add(threading.current_thread().name)
            return super().execute_many(tx, actions)

    async def workflow(ticket_id: int) -> None:
        await Shared(ticket_id)
        await Read(stage.book, ticket_id)

    stage.drive(workflow, *tickets)
    assert seen == where


@pytest.mark.parametrize("what", [Hanging, None], ids=["shared", "read"])
def test_what_hangs_for_a_single_ticket_is_noticed_at_its_scheduler(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, what: type[Hanging] | None
) -> None:
    monkeypatch.setattr("worker.runtime.scheduler.LONGEST_WAIT_S", 0.0)
    hangs.clear()
    goes_on.clear()

    async def workflow(ticket_id: int) -> int:
        return await (what(ticket_id) if what else HangingRead(stage.book, ticket_id))

    scheduler = stage.scheduler(workflow)
    scheduler.start()
    scheduler.take([1])
    assert hangs.wait(PATIENCE_S)
    assert scheduler.stuck_since is not None
    goes_on.set()
    assert scheduler.close() == []


def test_a_reader_that_hangs_is_noticed_as_soon_as_its_scheduler(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.runtime.scheduler.LONGEST_WAIT_S", 0.0)
    hangs.clear()
    goes_on.clear()

    async def workflow(ticket_id: int) -> int:
        return await HangingRead(stage.book, ticket_id)

    scheduler = stage.scheduler(workflow)
    scheduler.start()
    scheduler.take([1, 2])
    assert hangs.wait(PATIENCE_S)
    until(lambda: scheduler._busy_since is None)
    since = scheduler.stuck_since
    assert since is not None
    assert scheduler.stuck_since == since
    goes_on.set()
    assert scheduler.close() == []
    until(lambda: scheduler.stuck_since is None)


def test_what_ends_the_process_while_it_is_read_ends_every_way(stage: Stage) -> None:
    class Killed(BaseException):
        pass

    class Read(KeptLast):
        @classmethod
        def execute_many(cls, tx: Any, actions: Sequence[Self]) -> Sequence[int]:  # noqa: ARG003
            raise Killed

    async def workflow(ticket_id: int) -> int:
        return await Read(stage.book, ticket_id)

    scheduler = stage.scheduler(workflow)
    scheduler.start()
    scheduler.take([1, 2])
    assert stage.given_up.wait(PATIENCE_S)
    assert stage.ended == {}


@pytest.mark.parametrize("where", ["call", "shared", "done again"])
def test_a_caller_that_hangs_is_noticed(stage: Stage, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """The lock of its ticket is kept as long as it does."""
    monkeypatch.setattr("worker.runtime.scheduler.LONGEST_ACTION_S", 0.0)
    hangs.clear()
    goes_on.clear()

    async def workflow(ticket_id: int) -> None:
        if where == "shared":
            await Hanging(ticket_id)
        elif where == "call":
            await called(hang)
        else:
            await HangingAlone(stage.book, ticket_id, fails="with others")

    scheduler = stage.scheduler(workflow)
    scheduler.start()
    scheduler.take([1, 2] if where == "shared" else [1])
    assert hangs.wait(PATIENCE_S)
    since = scheduler.stuck_since
    assert since is not None
    assert scheduler.stuck_since == since
    monkeypatch.setattr("worker.runtime.scheduler.LONGEST_ACTION_S", PATIENCE_S)
    assert scheduler.stuck_since is None, "a long look-up may take its time"
    goes_on.set()
    assert scheduler.close() == []
    assert scheduler.stuck_since is None


def test_a_caller_that_gives_heartbeat_may_take_as_long_as_it_does(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look-up of many pages, each of which waits for its turn, takes longer than half an hour."""
    begun, tells, told, ends = (threading.Event() for _ in range(4))

    def look_up() -> None:
        begun.set()
        tells.wait(PATIENCE_S)
        alive()
        told.set()
        ends.wait(PATIENCE_S)

    async def workflow(_ticket_id: int) -> None:
        await called(look_up)

    scheduler = stage.scheduler(workflow)
    scheduler.start()
    scheduler.take([1])
    assert begun.wait(PATIENCE_S)
    before = scheduler._callers.busy_since
    tells.set()
    assert told.wait(PATIENCE_S)
    after = scheduler._callers.busy_since
    assert before is not None
    assert after is not None
    assert after > before
    ends.set()


def test_a_call_begins_once_it_is_claimed_however_long_what_others_share_takes(stage: Stage) -> None:
    """Its lease runs: a frozen Redis would use it up."""
    has_begun = threading.Event()

    class Slow(Asked):
        @classmethod
        def execute_many(cls, actions: Sequence[Self]) -> Sequence[int | Exception]:
            return [has_begun.wait(PATIENCE_S)] * len(actions)

    async def workflow(ticket_id: int) -> int:
        if ticket_id == 1:
            await claimed(Claimed(stage.book, ticket_id))
            await called(has_begun.set)
            return 0
        return await Slow(ticket_id)

    assert stage.drive(workflow, 1, 2)[2] is True


def test_what_came_of_a_call_and_failed_with_others_does_not_wait_for_a_caller(stage: Stage) -> None:
    """All of them may be at slow calls; as long as it is in no row, it may get lost."""
    is_kept = threading.Event()

    async def workflow(ticket_id: int) -> bool:
        if ticket_id == 1:
            return await called(is_kept.wait, PATIENCE_S)
        await SettingsCache(stage.book, ticket_id, fails="with others")
        is_kept.set()
        return True

    assert stage.drive(workflow, 1, 2, callers=1) == {1: True, 2: True}


class Held(KeptLast):
    """Fails with others, and then waits for what somebody holds."""

    is_held: threading.Event
    is_free: threading.Event

    def carry_out(self) -> int:
        self.is_held.set()
        return self._ticket_id if self.is_free.wait(PATIENCE_S) else 0


def test_what_waits_for_the_configuration_alone_keeps_no_caller_from_a_call(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever changes it may hold it for long."""
    for event in ("is_held", "is_free"):
        monkeypatch.setattr(Held, event, threading.Event(), raising=False)

    async def workflow(ticket_id: int) -> int:
        if ticket_id < 5:
            return await Held(stage.book, ticket_id, fails="with others")
        await claimed(Claimed(stage.book, ticket_id))
        await called(Held.is_free.set)
        return ticket_id

    assert stage.drive(workflow, *range(1, 6), callers=2) == {one: one for one in range(1, 6)}


def test_what_came_of_a_call_does_not_wait_behind_what_waits_for_the_configuration(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for event in ("is_held", "is_free"):
        monkeypatch.setattr(Held, event, threading.Event(), raising=False)

    async def workflow(ticket_id: int) -> int:
        if ticket_id < 9:
            return await Held(stage.book, ticket_id, fails="with others")
        await called(Held.is_held.wait, PATIENCE_S)
        kept = await SettingsCache(stage.book, ticket_id, fails="with others")
        Held.is_free.set()
        return kept // 10

    assert stage.drive(workflow, *range(1, 10), callers=9) == {one: one for one in range(1, 10)}


def test_a_claim_that_failed_with_others_is_made_by_the_caller_that_is_kept_for_it(stage: Stage) -> None:
    by = list[str]()

    class Noted(Claimed):
        def carry_out(self) -> int:
            by.append(threading.current_thread().name.split("-")[0])
            return super().carry_out()

    async def workflow(ticket_id: int) -> int:
        return await claimed(Noted(stage.book, ticket_id, fails="with others"))

    assert stage.drive(workflow, 1, 2, callers=2) == {1: 10, 2: 20}
    assert by == ["caller", "caller"]


def test_a_process_that_is_to_end_makes_no_more_calls_and_notifies_what_it_leaves(stage: Stage) -> None:
    """Also not for tickets that are on their way: a supervisor does not wait for long."""
    is_called, go_on, calls = threading.Event(), threading.Event(), list[int]()

    def call(ticket_id: int) -> None:
        calls.append(ticket_id)
        is_called.set()
        go_on.wait(PATIENCE_S)

    async def workflow(ticket_id: int) -> None:
        if ticket_id < 3:
            await claimed(Claimed(stage.book, ticket_id))
        else:
            await called(calls.append, ticket_id)
        await called(call, ticket_id)
        await SettingsCache(stage.book, ticket_id)
        await called(calls.append, ticket_id)

    scheduler = stage.scheduler(workflow, callers=1)
    scheduler.start()
    scheduler.take([1, 2, 3])
    assert is_called.wait(PATIENCE_S)
    scheduler.stop()
    go_on.set()
    assert sorted(scheduler.close()) == [1, 2, 3]
    assert calls == [1]
    assert stage.book.transactions == [[1], [1]], "what came of the call is kept"


class Entered(Asked, Admission[int]):
    """Asks whether to go on."""


@pytest.mark.parametrize("is_claimed", [True, False])
def test_a_pause_keeps_every_call_from_beginning_that_is_not_in_a_caller_s_hands(
    stage: Stage, *, is_claimed: bool
) -> None:
    """Also of tickets that entered before it, and of those that would enter before Redis knows of it."""
    calls, told, both = list[int](), list[int](), threading.Barrier(2, timeout=PATIENCE_S)

    def call(ticket_id: int) -> None:
        calls.append(ticket_id)
        both.wait()
        raise TrackerBusy("POST", "/issues.json", status=429, retry_after=None)

    async def workflow(ticket_id: int) -> None:
        await Entered(ticket_id)
        try:
            if is_claimed:
                await claimed(Claimed(stage.book, ticket_id))
                await called(call, ticket_id)
            else:
                await called(call, ticket_id)
        except TrackerBusy:
            await SettingsCache(stage.book, -ticket_id)
            await noted(told.append, ticket_id)

    stage.drive(workflow, *range(1, 20), callers=2)
    assert len(calls) == 2
    assert sorted(told) == sorted(calls)
    assert [one for some in stage.book.transactions for one in some if one > 0] == (
        calls if is_claimed else []
    )
    assert Counter(stage.ended.values()) == {None: 2, NotBegun: 17}


def test_a_pause_keeps_a_call_from_beginning_that_was_claimed_for_whoever_comes_back(stage: Stage) -> None:
    """The caller who brings the outage does not begin it, however late the scheduler hears of that."""
    calls = list[int]()

    def call(ticket_id: int) -> None:
        calls.append(ticket_id)
        if ticket_id == 2:
            until(lambda: [3] in stage.book.transactions or [2, 3] in stage.book.transactions)
            raise TrackerBusy("POST", "/issues.json", status=429, retry_after=None)

    async def workflow(ticket_id: int) -> None:
        await Entered(ticket_id)
        await claimed(Claimed(stage.book, ticket_id))
        await called(call, ticket_id)

    stage.drive(workflow, 1, 2, 3, 4, callers=1)
    assert calls == [1, 2]
    assert stage.ended == {1: None, 2: TrackerBusy, 3: NotBegun, 4: NotBegun}


def test_a_process_that_is_to_end_begins_no_call_that_was_claimed_for_whoever_comes_back(
    stage: Stage,
) -> None:
    calls, are_claimed = list[int](), threading.Event()

    def call(ticket_id: int) -> None:
        calls.append(ticket_id)
        if ticket_id == 2:
            assert are_claimed.wait(PATIENCE_S)

    async def workflow(ticket_id: int) -> None:
        await claimed(Claimed(stage.book, ticket_id))
        await called(call, ticket_id)

    scheduler = stage.scheduler(workflow, callers=1)
    scheduler.start()
    scheduler.take([1, 2, 3, 4])
    until(lambda: any(3 in one for one in stage.book.transactions))
    scheduler.stop()
    are_claimed.set()
    assert sorted(scheduler.close()) == [3, 4]
    assert calls == [1, 2]


class Hands:
    """Stands for callers who do nothing: what they were given to do is told of by the test."""

    count, busy_since, late_since = 3, None, None

    def __init__(self) -> None:
        self.given: list[tuple[RunningTicket, Step[Any]]] = []

    def carry_out(self, going: RunningTicket, action: Step[Any], arrive: Arrive) -> None:  # noqa: ARG002
        self.given.append((going, action))

    again = aside = carry_out

    def allow(self, most: int) -> None:
        """As many as there are."""

    def hold(self) -> None:
        """They begin nothing anyhow."""

    def withdraw(self) -> list[Any]:
        """Return nothing: they have begun all that they were given."""
        return []

    def together(self, asked: list[Any], arrive: Arrive) -> None:
        """Nothing is shared."""

    def read(self, do: Callable[[], None]) -> None:
        """Read at once."""
        do()

    def close(self) -> None:
        """There is nothing to end."""


def test_a_pause_is_known_before_any_of_those_goes_on_whose_answers_came_with_it(stage: Stage) -> None:
    async def workflow(ticket_id: int) -> None:
        if ticket_id == 2:
            await SettingsCache(stage.book, ticket_id)
            await claimed(Claimed(stage.book, ticket_id))
        await called(int)
        await called(int)

    hands = Hands()
    scheduler = Scheduler(workflow, hands)
    scheduler.take([1, 2, 3])
    scheduler._turn()
    first, third = (going for going, _ in hands.given)
    assert (first.ticket_id, third.ticket_id) == (1, 3)
    scheduler._arrive(third, Outcome())
    scheduler._arrive(first, Outcome(error=TrackerBusy("GET", "/", status=429, retry_after=None)))
    scheduler._turn()
    assert len(hands.given) == 2, "what was claimed at that moment is not sent"
    assert stage.book.transactions == [[2], [2]]


def test_whoever_enters_after_a_pause_makes_calls(stage: Stage) -> None:
    """Its probe, too, though others are not let in."""
    calls = list[int]()

    def call(ticket_id: int) -> None:
        calls.append(ticket_id)
        if len(calls) == 1:
            raise TrackerBusy("POST", "/issues.json", status=429, retry_after=None)

    async def workflow(ticket_id: int) -> None:
        await Entered(ticket_id)
        with suppress(TrackerBusy):
            await called(call, ticket_id)

    scheduler = stage.scheduler(workflow, callers=1)
    drive_all(scheduler, [1])
    drive_all(scheduler, [2])
    assert calls == [1, 2]


def test_a_process_that_is_to_end_does_not_wait_for_ever(stage: Stage) -> None:
    is_called, go_on = threading.Event(), threading.Event()

    def call() -> None:
        is_called.set()
        go_on.wait(PATIENCE_S)

    async def workflow(_ticket_id: int) -> None:
        await called(call)

    scheduler = stage.scheduler(workflow)
    scheduler.start()
    scheduler.take([1])
    assert is_called.wait(PATIENCE_S)
    assert scheduler.close(patience=0.1) == [1], "others look whether there is more to do"
    go_on.set()


@pytest.mark.promise("SEC-36")
def test_what_the_database_says_is_logged_by_its_kind_only(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    said = OperationalError("INSERT", {"payload": "hidden-word"}, Exception("DETAIL: (hidden-word)"))

    def refuse() -> None:
        raise said

    async def workflow(_ticket_id: int) -> None:
        await called(refuse)

    with structlog.testing.capture_logs() as logged:
        assert stage.drive(workflow, 1) == {1: OperationalError}
    assert logged or caplog.records
    assert "hidden-word" not in f"{logged} {caplog.text}"


def test_what_is_handed_over_together_is_under_way_together() -> None:
    """Threads are started as they are needed, and the free ones are taken first."""

    async def workflow() -> None:
        """Go no way: the callers alone are asked."""

    callers, done, all_here = (
        CallerThreads(8),
        threading.Semaphore(0),
        threading.Barrier(8, timeout=PATIENCE_S),
    )
    for _ in range(10):
        for ticket_id in range(8):
            going = RunningTicket(ticket_id, workflow())
            callers.carry_out(going, called(all_here.wait), lambda *_: done.release())
            going.workflow.close()
        for _ in range(8):
            assert done.acquire(timeout=PATIENCE_S)
    callers.close()
