"""Runs the workflows of many tickets at once, and shares what they ask for.

Each workflow that is ready goes on; the steps that they then ask for are gathered by kind and done as one: statements,
commits, round trips. None waits for a group (but what lingers, for a moment): a group is what has gathered while the
last one was carried out, as a database groups its commits. New tickets are read beside that by a thread of its own, so
that no call waits for it. Calls go to a bounded number of callers, and what else may take long to threads beside them,
so that a slow step holds up its own ticket only. A claim is made only for a caller that is free or soon will be: its
lease runs from then on.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar, cast

from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from shared.codes.faults import Fault
from shared.errors import LockBusy, NotBegun, SettingsError, TrackerOutage
from shared.process.alive import Sign, watched
from shared.telemetry.logs import get_logger
from shared.tracker.client import Exchange
from worker.runtime.exchanges import Exchanges
from worker.ticket.context import DbOp, transaction_of
from worker.ticket.log_context import OwnContext
from worker.ticket.steps import (
    Admission,
    Blocking,
    BlockingCall,
    Pool,
    RedisOp,
    Slot,
    Starting,
    Step,
    TakeSlot,
    TrackerCall,
    Workflow,
)

log = get_logger("sync")
T = TypeVar("T")
WAYS_PER_CALLER = 3
"""Tickets that are under way for each caller: beside the one that it calls for, they load, link, or wait for one."""

LEAST_WAYS, FOR_EACH = 64, 8
"""Tickets that are under way however few calls may be made; for each call at most, beside those claimed ahead. Half of
them are read together, and share SQL. What is known of one grows old while it waits."""

MORE_AHEAD = 8
"""For what goes ahead there is room beyond that."""

LINGER_S = 0.1
"""So long waits what can wait for tickets that come to be read. Meanwhile its own is not begun once more."""

AHEAD_S = 0.2
"""As many calls are claimed ahead as callers have come back within this time, MOST_TOGETHER at most: what is claimed
together shares a transaction. Should the tracker become a hundred times as slow now, the last of them are not begun
within their lease: they are not sent, and claimed again after a moment."""

MOST_TOGETHER = 32
"""What is done in one transaction at most: it holds up everybody else."""

MOST_WAITING = 32
"""Tickets that wait to be begun: what one process has taken no other one does."""

ANSWERS, ASKING, OTHERS = 2, 4, 4
"""Threads beside the callers: for what is told of calls or came of them, for what the helpdesk is asked, and for
everything else that is done alone."""

OUTAGES = (TrackerOutage, SettingsError)
"""What begins a pause."""

LONGEST_WAIT_S = 60.0
"""Longer than any database that is to answer still takes, its time-outs included."""

LONGEST_ACTION_S = 1800.0
"""Longer than anything takes that gives no heartbeat (`shared.process.alive`): each call's end is one, and each
minute of a wait for a turn. A long look-up is many calls."""


@dataclass(eq=False)
class RunningTicket:
    """A ticket whose workflow runs.

    Attributes:
        notified_by: the traceparent of its message, if it had one.
        has_caller: whether a caller is kept for it.
        slot: keeps the caller as long as it is held.
        outages: how many this process knew of when it asked last whether to go on.
        is_ahead: whether it waits for a caller before all others.
        is_new: whether it has asked nothing of the store yet.
    """

    ticket_id: int
    workflow: Workflow[Any]
    notified_by: str | None = None
    has_caller: bool = False
    slot: Slot | None = None
    outages: int = 0
    is_ahead: bool = False
    is_new: bool = True

    def __post_init__(self) -> None:
        """Begin its own context, in which it takes each step."""
        self.own = OwnContext(self.ticket_id, self.notified_by)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a step: a result, or an error that is raised in the workflow, or that ends the process."""

    result: Any = None
    error: BaseException | None = None


Arrive = Callable[[RunningTicket, Outcome], None]
Asked = tuple[RunningTicket, Step[Any]]


def _place(waiting: Collection[tuple[RunningTicket, *tuple[Any, ...]]], going: RunningTicket) -> int:
    """Return the place of a ticket in a queue: at the end, or behind the others that go first."""
    return sum(one.is_ahead for one, *_ in waiting) if going.is_ahead else len(waiting)


class Calls:
    """The calls to make next, in order; no more are under way at once than may be.

    Args:
        most: how many may be.
        begin: begins one; `ended` is called when it has ended.
    """

    def __init__(self, most: int, begin: Callable[[RunningTicket, Step[Any], Arrive], None]) -> None:
        self._most, self._at_work, self._is_held, self._is_over = most, 0, False, False
        self._begin = begin
        self._waiting: deque[tuple[RunningTicket, Step[Any], Arrive]] = deque()
        self._change = threading.Lock()

    def put(self, going: RunningTicket, action: Step[Any], arrive: Arrive) -> None:
        """Have one done: now, if it may be."""
        with self._change:
            self._waiting.insert(_place(self._waiting, going), (going, action, arrive))
        self._begin_some()

    def ended(self) -> None:
        """Have the next one done: one has ended."""
        with self._change:
            self._at_work -= 1
        self._begin_some()

    def allow(self, most: int) -> None:
        """Have so many under way from now on."""
        if most != self._most:
            self._most = most
            self._begin_some()

    def hold(self) -> None:
        """Have none begun until those that wait are withdrawn."""
        with self._change:
            self._is_held = True

    def withdraw(self) -> list[Asked]:
        """Return what has not begun; it will not."""
        with self._change:
            some = [(going, action) for going, action, _ in self._waiting]
            self._waiting.clear()
            self._is_held = False
        return some

    def end(self) -> None:
        """Have none begun any more; what has not begun is left as by a process that dies."""
        with self._change:
            self._is_over = True
            self._waiting.clear()

    def _begin_some(self) -> None:
        while one := self._next():
            self._begin(*one)

    def _next(self) -> tuple[RunningTicket, Step[Any], Arrive] | None:
        with self._change:
            may_begin = self._at_work < self._most and not (self._is_held or self._is_over)
            if not (may_begin and self._waiting):
                return None
            self._at_work += 1
            return self._waiting.popleft()


class Threads:
    """Carry out what may wait for somebody: at most so many, each started once it is needed.

    Args:
        name: what they are called.
        most: how many.
        do: carries one out.
    """

    def __init__(self, name: str, most: int, do: Callable[..., None]) -> None:
        self._name, self._most, self._do = name, most, do
        self._change = threading.Lock()
        self._count = self._free = 0
        self._begun: SimpleQueue[tuple[Any, ...] | None] = SimpleQueue()

    def put(self, *one: Any) -> None:
        """Have one carried out by whichever is free first."""
        with self._change:
            self._free -= 1
            self._begun.put(one)
            if self._free < 0 and self._count < self._most:
                try:
                    self._start()
                except RuntimeError:  # the system has no thread left: one of those that run takes it
                    if not self._count:
                        raise

    def end(self) -> None:
        """End them, each once it has nothing left to do."""
        with self._change:
            for _ in range(self._count):
                self._begun.put(None)

    def _start(self) -> None:
        threading.Thread(target=self._work, daemon=True, name=f"{self._name}-{self._count}").start()
        self._count += 1
        self._free += 1

    def _work(self) -> None:
        while (one := self._begun.get()) is not None:
            self._do(*one)
            with self._change:
                self._free += 1


class Callers(Protocol):
    """Carries actions out beside the scheduler; what comes of each is told by `arrive`, from any thread.

    Attributes:
        count: how many carry out what is one ticket's own.
    """

    count: int

    @property
    def busy_since(self) -> float | None:
        """The last heartbeat of the thread that has been silent for longest (monotonic); None: none works."""

    @property
    def late_since(self) -> float | None:
        """When the time was over, or will be, of what nobody waits for themselves (monotonic); None: there is none."""

    def carry_out(self, going: RunningTicket, action: Step[Any], arrive: Arrive) -> None:
        """Begin an action as soon as one of them is free."""

    def allow(self, most: int) -> None:
        """Have so many of them at work at once from now on."""

    def hold(self) -> None:
        """Have none of them begin anything until what none has begun is withdrawn."""

    def withdraw(self) -> list[Asked]:
        """Return what none of them has begun; none will."""

    def again(self, going: RunningTicket, action: DbOp[Any], arrive: Arrive) -> None:
        """Begin what has failed in a group; it waits for none of them."""

    def aside(self, going: RunningTicket, action: Blocking[Any], arrive: Arrive) -> None:
        """Begin what calls nobody; it waits for none of them either."""

    def together(self, asked: list[Asked], arrive: Arrive) -> None:
        """Begin what is shared (`RedisOp`)."""

    def read(self, do: Callable[[], None]) -> None:
        """Begin to read what is new; the next is begun after its end."""

    def close(self) -> None:
        """End them."""


class Share(Protocol):
    """How many callers may be at work at once.

    Attributes:
        share: so many now.
    """

    share: int

    def soon(self) -> None:
        """More would be at work if they might, or there is work again."""


class CallerThreads:
    """Callers, each a thread once it is needed; one thread for what is shared, and one that reads.

    A request that can leave at once takes none: one thread waits for the answers to all of them (`Exchanges`). And
    there are some for what a ticket does alone, without a call: it may wait for whoever holds its row, and keeps no
    caller from a call. What came of calls has its own.

    Args:
        count: how many.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._calls, self._exchanges = Calls(count, self._begin), Exchanges()
        self._callers = Threads("caller", count, self._call)
        self._answers = Threads("answers", ANSWERS, self._do)
        self._asking = Threads("asking", ASKING, self._do)
        self._others = Threads("others", OTHERS, self._do)
        self._signs: dict[int, Sign] = {}
        self._asked: SimpleQueue[tuple[list[Asked], Arrive] | None] = SimpleQueue()
        self._to_read: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=self._share, daemon=True, name="shared").start()
        threading.Thread(target=self._read, daemon=True, name="reader").start()

    @property
    def busy_since(self) -> float | None:
        """The last heartbeat of the thread that has been silent for longest."""
        return min((one.at for one in list(self._signs.values())), default=None)

    @property
    def late_since(self) -> float | None:
        """When the time of the exchange was over that is ended first."""
        return self._exchanges.until

    def carry_out(self, going: RunningTicket, action: Step[Any], arrive: Arrive) -> None:
        """Begin it, or have it begun as soon as it may be."""
        self._calls.put(going, action, arrive)

    def allow(self, most: int) -> None:
        """Have so many of them at work at once from now on."""
        self._calls.allow(most)

    def hold(self) -> None:
        """Have none of them begin anything until what none has begun is withdrawn."""
        self._calls.hold()

    def withdraw(self) -> list[Asked]:
        """Return what none of them has begun; none will."""
        return self._calls.withdraw()

    def again(self, going: RunningTicket, action: DbOp[Any], arrive: Arrive) -> None:
        """Hand it to one of the threads for that."""
        (self._others if action.lane == "read" else self._answers).put(going, action, arrive)

    def aside(self, going: RunningTicket, action: Blocking[Any], arrive: Arrive) -> None:
        """Hand it to one of the threads for that."""
        threads = {Pool.NOTES: self._answers, Pool.HELPDESK: self._asking, Pool.OTHERS: self._others}
        threads[action.pool].put(going, action, arrive)

    def together(self, asked: list[Asked], arrive: Arrive) -> None:
        """Hand it to the thread for what is shared."""
        self._asked.put((asked, arrive))

    def read(self, do: Callable[[], None]) -> None:
        """Hand it to the thread for that."""
        self._to_read.put(do)

    def close(self) -> None:
        """End the threads, each once it has nothing left to do."""
        self._asked.put(None)
        self._to_read.put(None)
        self._calls.end()
        self._exchanges.close()
        for threads in (self._callers, self._answers, self._asking, self._others):
            threads.end()

    def _begin(self, going: RunningTicket, action: Step[Any], arrive: Arrive) -> None:
        """Send a request without waiting for it; everything else takes a thread.

        A request that could not be made up is made up again there, where its error belongs.
        """
        begun = None
        with suppress(Exception):
            begun = action.send_first()
        if begun is None:
            self._callers.put(going, action, arrive)
        elif begun.is_on_its_way:
            self._exchanges.wait_for(begun, partial(self._go_on, begun, going, action, arrive))
        else:
            self._callers.put(going, action, arrive, begun)

    def _go_on(self, begun: Exchange, going: RunningTicket, action: Step[Any], arrive: Arrive) -> None:
        """Go on after an exchange: at once, unless something may be left to ask."""
        if begun.is_plain:
            self._call(going, action, arrive, begun)
        else:
            self._callers.put(going, action, arrive, begun)

    def _call(self, going: RunningTicket, action: Step[Any], arrive: Arrive, *begun: Exchange) -> None:
        self._do(going, action, arrive, *begun)
        self._calls.ended()

    def _do(self, going: RunningTicket, action: Step[Any], arrive: Arrive, *begun: Exchange) -> None:
        with self._at_work():
            outcome = outcome_of(going, action, *begun)
        if isinstance(outcome.error, OUTAGES):
            self.hold()
        arrive(going, outcome)

    def _share(self) -> None:
        is_over = False
        while not is_over:
            waiting = _all_of(self._asked)
            is_over = None in waiting
            asking = [one for one in waiting if one is not None]
            with self._at_work():
                for going, outcome in shared([one for asked, _ in asking for one in asked]):
                    asking[0][1](going, outcome)

    def _read(self) -> None:
        while (do := self._to_read.get()) is not None:
            do()

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        me = threading.get_ident()
        sign = self._signs[me] = Sign()
        try:
            with watched(sign):
                yield
        finally:
            del self._signs[me]


def _all_of(queue: SimpleQueue[T], patience: float | None = None) -> list[T]:
    """Return all that is in a queue; where nothing is, wait for something so many seconds, or as long as it takes."""
    found = list[T]()
    with suppress(Empty):
        found.append(queue.get(block=patience != 0, timeout=patience or None))
        while True:
            found.append(queue.get_nowait())
    return found


def outcome_of(going: RunningTicket, action: Step[Any], *begun: Exchange) -> Outcome:
    """Carry an action out for its ticket alone; one that was begun, from there."""
    try:
        return Outcome(going.own.run(action.carry_out, *begun))
    except BaseException as fault:  # noqa: BLE001 (it belongs to the workflow, or ends the process)
        return Outcome(error=fault)


def shared(asked: list[Asked]) -> Iterator[tuple[RunningTicket, Outcome]]:
    """Do what is one round trip for all of its kind."""
    kinds = defaultdict[type[RedisOp[Any]], list[tuple[RunningTicket, RedisOp[Any]]]](list)
    for going, action in asked:
        together = cast(RedisOp[Any], action)
        kinds[type(together)].append((going, together))
    for kind, some in kinds.items():
        told: list[tuple[tuple[RunningTicket, RedisOp[Any]], Any]]
        try:
            told = list(zip(some, kind.execute_many([action for _, action in some]), strict=True))
        except BaseException as fault:  # noqa: BLE001 (it belongs to each of them, or ends the process)
            told = [(one, _alike(fault)) for one in some]
        for (going, _), result in told:
            yield going, Outcome(error=result) if isinstance(result, BaseException) else Outcome(result)


def _alike(fault: BaseException) -> BaseException:
    """Return a copy of an error, for one more workflow: raised in two, it would have the traceback of both."""
    made = type(fault).__new__(type(fault), *fault.args)
    made.__dict__.update(fault.__dict__)
    made.__cause__ = fault
    return made


class Scheduler:
    """Runs the workflows of the tickets that it takes, each of them once at a time.

    Args:
        begin: returns the workflow of a ticket.
        callers: carry out what may take long.
        share: how many of them may be at work at once.
        give_up: called if the scheduler itself has failed; what is under way is left as by a process that dies.
        is_limited: whether calls wait for a rate limit; only as many tickets are under way then as callers may be at
            work, since what is known of one grows old while it waits.
    """

    def __init__(
        self,
        begin: Callable[[int], Workflow[Any]],
        callers: Callers,
        give_up: Callable[[], None] = lambda: None,
        share: Share | None = None,
        *,
        is_limited: bool = False,
    ) -> None:
        self._begin, self._callers, self._give_up, self._share = begin, callers, give_up, share
        self._is_limited, self._kept, self._soon_free, self._new = is_limited, 0, 0, 0
        self._came_back = deque[float]()
        self._going: dict[int, RunningTicket] = {}
        self._arrivals: SimpleQueue[tuple[RunningTicket, Outcome] | None] = SimpleQueue()
        self._ready: list[Asked] = []
        self._to_read: list[Asked] = []
        self._reading_since: float | None = None
        self._over = 0
        self._for_a_caller: deque[Asked] = deque()
        self._lingering: list[Asked] = []
        self._lingering_since = 0.0
        self._change = threading.Condition()
        self._notified: dict[int, str | None] = {}
        self._ahead = set[int]()
        self._stopped_at: float | None = None
        self._outages, self._because = 0, Fault.WORKER_ENDS()
        self._not_told = set[int]()
        self._busy_since: float | None = None
        self._thread: threading.Thread | None = None

    @property
    def wanted(self) -> int:
        """How many callers would be at work if they might."""
        return self._kept + len(self._for_a_caller) + (0 if self._stopped_at else len(self._notified))

    @property
    def _callers_now(self) -> int:
        return min(self._callers.count, self._share.share if self._share else self._callers.count)

    @property
    def _most(self) -> int:
        if self._is_limited:
            return max(1, self._callers_now)
        calls = max(1, self._callers_now)
        return max(WAYS_PER_CALLER * calls, min(LEAST_WAYS, FOR_EACH * calls + self._soon_free))

    @property
    def _is_one_free(self) -> bool:
        return self._kept < self._callers_now + self._soon_free

    @property
    def is_at_work(self) -> bool:
        """Whether it has anything to do."""
        return bool(self._going or self._notified)

    @property
    def stuck_since(self) -> float | None:
        """Since when it, its reader or a caller waits for what takes longer than anything does; None: none does.

        Who looks twice and sees the same moment knows that it goes on: a process that was stopped only seems to wait.
        """
        now = time.monotonic()
        for since, longest in (
            (self._busy_since, LONGEST_WAIT_S),
            (self._reading_since, LONGEST_WAIT_S),
            (self._callers.late_since, LONGEST_WAIT_S),
            (self._callers.busy_since, LONGEST_ACTION_S),
        ):
            if since is not None and now - since > longest:
                return since
        return None

    def take(self, ticket_ids: Collection[int], notified_by: Mapping[int, str] | None = None) -> list[int]:
        """Have tickets worked on; wait as long as too many wait already.

        Args:
            ticket_ids: the tickets.
            notified_by: by ticket, the traceparent of its message, if it had one.

        Returns:
            Those that will not be: the process is to end.
        """
        while not self.has_taken(ticket_ids, notified_by):
            with self._change:
                if self._stopped_at:
                    return list(ticket_ids)
                self._change.wait_for(lambda: self._stopped_at or self._has_room)
        return []

    def has_taken(self, ticket_ids: Collection[int], notified_by: Mapping[int, str] | None = None) -> bool:
        """Have tickets worked on, unless too many wait already or the process is to end; tell whether they will be."""
        with self._change:
            if self._stopped_at or not self._has_room:
                return False
            was_idle = not self.is_at_work
            for one in ticket_ids:
                self._notified[one] = (notified_by or {}).get(one) or self._notified.get(one)
        if self._share and was_idle:
            self._share.soon()
        self._arrivals.put(None)
        return True

    def take_ahead(self, ticket_ids: Collection[int]) -> None:
        """Have tickets worked on before all that wait."""
        if not ticket_ids:
            return
        with self._change:
            self._notified = dict.fromkeys(ticket_ids) | self._notified
            self._ahead.update(ticket_ids)
        self._arrivals.put(None)

    def look(self) -> None:
        """Look whether more may be done than before."""
        self._arrivals.put(None)

    def start(self) -> None:
        """Work in a thread of its own, until it is closed."""
        self._thread = threading.Thread(target=self._work, daemon=True, name="scheduler")
        self._thread.start()

    def stop(self) -> None:
        """Begin nothing any more, no ticket and no call; what was begun goes on to where something else would begin."""
        with self._change:
            self._stopped_at = self._stopped_at or time.monotonic()
            self._change.notify_all()
        self._callers.hold()
        self._arrivals.put(None)

    def close(self, patience: float = 30.0) -> list[int]:
        """Stop, and wait for what is under way.

        Args:
            patience: seconds from when it was first told to stop; what takes longer is left as it is.

        Returns:
            The tickets that others are to see to.
        """
        self.stop()
        if self._thread is not None and self._stopped_at:
            self._thread.join(max(0.0, self._stopped_at + patience - time.monotonic()))
        self._callers.close()
        return list(self._notified | dict.fromkeys(self._going))

    def _work(self) -> None:
        try:
            while self._going or not self._stopped_at:
                self._turn()
        except BaseException as fault:
            log.critical("the scheduler has failed; nothing goes on in this process", exc_info=fault)
            self._give_up()

    def _turn(self) -> None:
        """Let everybody go on who is ready; then do what they ask for, each kind as one.

        What is new is read beside that, in a transaction of its own, for which no call waits. What a single ticket
        asks for is done at once: to hand it to another thread and back takes longer than most of it.
        """
        arrived = self._arrived()
        self._busy_since = time.monotonic()
        came_with = [going for going, _ in arrived if going.has_caller]
        self._soon_free = 0
        if self._stopped_at:
            self._look_again()
        self._all_go_on(arrived)
        at_the_store = {going for going, _ in self._ready}  # some keep their caller for the call after it
        self._see_who_is_free([one for one in came_with if not one.has_caller or one in at_the_store])
        self._let_on()
        self._begin_more()
        self._read()
        ready, self._ready = self._ready, []
        if asked := [one for one in ready if isinstance(one[1], RedisOp)]:
            if self._has_one:
                self._all_go_on(list(shared(asked)))
            else:
                self._callers.together(asked, self._arrive)
        stored = [(going, action) for going, action in ready if isinstance(action, DbOp)]
        for some in _groups(stored):
            self._busy_since = time.monotonic()
            self._all_go_on(self._stored(some))
        self._busy_since = None

    def _read(self) -> None:
        """Have what is new read, all of it together, unless the reader is at work still."""
        if self._reading_since or not (asked := [*self._to_read, *self._have_waited()]):
            return
        self._to_read, self._reading_since = [], time.monotonic()
        self._over = sum(isinstance(action, DbOp) and action.linger for _, action in asked)
        groups = list(_groups([(going, one) for going, one in asked if isinstance(one, DbOp)]))
        if self._has_one:
            self._work_as_reader(groups)
        else:
            self._callers.read(partial(self._work_as_reader, groups))

    def _work_as_reader(self, groups: list[list[tuple[RunningTicket, DbOp[Any]]]]) -> None:
        for some in groups:
            self._reading_since = time.monotonic()
            try:
                found = self._stored(some)
            except BaseException as fault:  # noqa: BLE001 (it ends the process)
                found = [(some[0][0], Outcome(error=fault))]
            for going, outcome in found:
                self._arrive(going, outcome)
        self._reading_since = None
        self.look()

    def _see_who_is_free(self, came_back: list[RunningTicket]) -> None:
        """Expect as many callers to be free soon as have just become so.

        Whoever is then finds the next call claimed, and begins it at once. Nobody is expected where nobody came back:
        a claim does not wait for a tracker that hangs, nor for a rate limit.
        """
        if self._is_limited:
            return
        now = time.monotonic()
        self._came_back.extend(now for _ in came_back)
        while self._came_back and now - self._came_back[0] > AHEAD_S:
            self._came_back.popleft()
        self._soon_free = min(len(self._came_back), MOST_TOGETHER)
        self._callers.allow(max(1, self._callers_now))

    @property
    def _has_one(self) -> bool:
        """Whether a single ticket is under way: nobody else waits for what is done for it, calls left out, here."""
        return len(self._going) == 1

    def _have_waited(self) -> list[Asked]:
        """Return what can wait for tickets that come to be read: some do now, or none will soon."""
        has_time = self._linger_left > 0
        if self._will_be_read and not self._to_read and has_time and len(self._lingering) < MOST_TOGETHER:
            return []
        have_waited, self._lingering = self._lingering, []
        return have_waited

    def _arrived(self) -> list[tuple[RunningTicket, Outcome]]:
        """Return whose actions are done; wait for one only where nothing else is to be done."""
        have_waited = self._lingering and not self._will_be_read
        may_read = not self._reading_since and (self._to_read or have_waited)
        is_idle = not (self._ready or may_read or self._to_begin())
        patience = self._linger_left if self._lingering and not self._reading_since else None
        found = _all_of(self._arrivals, patience if is_idle else 0)
        return [one for one in found if one is not None]

    @property
    def _linger_left(self) -> float:
        return max(0.0, self._lingering_since + LINGER_S - time.monotonic())

    @property
    def _has_room(self) -> bool:
        return self._waiting < MOST_WAITING

    @property
    def _waiting(self) -> int:
        """How many tickets wait to be begun; those that are under way are begun once more after their end."""
        return sum(one not in self._going for one in self._notified)

    @property
    def _will_be_read(self) -> bool:
        """Whether tickets come to be read: some that were begun, or that wait for room."""
        if self._stopped_at or self._not_told:
            return bool(self._new)
        with self._change:
            return bool(self._new or self._waiting)

    def _to_begin(self) -> list[int]:
        """Return the tickets for which there is room: all that wait, or else several, which are read together.

        For those that go ahead of a backlog some more room is made.

        One that is under way is begun once more after its end.
        """
        together = max(1, min(max(self._callers_now, self._most // 2), MOST_TOGETHER))
        room = self._most - (
            len(self._going) - len(self._lingering) - (self._over if self._reading_since else 0)
        )
        if self._is_limited:  # several would have to wait until nobody is under way
            together = max(0, min(together, room))
        with self._change:
            waiting = (one for one in self._notified if one not in self._going)
            some = [] if self._stopped_at else list(islice(waiting, together))
        if len(some) <= room:
            return some
        more = room if self._is_limited else room + MORE_AHEAD
        return [one for one in some if one in self._ahead][: max(0, more)]

    def _begin_more(self) -> None:
        """Begin the tickets for which there is room."""
        begun = self._to_begin()
        with self._change:
            notified_by = {ticket_id: self._notified.pop(ticket_id) for ticket_id in begun}
            if begun:
                self._change.notify_all()
        for ticket_id in begun:
            workflow = self._begin(ticket_id)
            going = self._going[ticket_id] = RunningTicket(ticket_id, workflow, notified_by[ticket_id])
            self._new += 1
            going.is_ahead = ticket_id in self._ahead
            self._ahead.discard(ticket_id)
            self._go_on(going, Outcome())

    def _all_go_on(self, some: list[tuple[RunningTicket, Outcome]]) -> None:
        """Let some tickets go on; if one of them begins a pause, nothing starts any more that was let in before.

        Every process knows of it once that ticket's workflow has told Redis; until then this one lets no ticket in.

        Raises:
            BaseException: what ends the process; no workflow gets it, whose end would wait for others.
        """
        for going, outcome in some:
            if outcome.error is not None and not isinstance(outcome.error, Exception):
                raise outcome.error
            if isinstance(outcome.error, OUTAGES):
                self._outages, self._because = self._outages + 1, outcome.error.notice
                self._not_told.add(going.ticket_id)
        if self._not_told:
            self._look_again()
        for going, outcome in some:
            self._go_on(going, outcome)

    def _go_on(self, going: RunningTicket, outcome: Outcome) -> None:
        """Let a ticket go on to its next wait."""
        go, given = going.workflow.send, outcome.result
        if outcome.error is not None:
            go, given = going.workflow.throw, outcome.error
        try:
            action = going.own.run(go, given)
        except StopIteration:
            self._end(going, None)
        except Exception as fault:  # noqa: BLE001 (one ticket's; the others go on)
            self._end(going, fault)
        else:
            self._see_to(going, action)

    def _see_to(self, going: RunningTicket, action: Step[Any]) -> None:
        """Have a step done: if it needs a caller, once one is kept for its ticket."""
        if isinstance(action, DbOp):
            self._is_new_no_more(going)
        if isinstance(action, Starting) and (why := self._why_not(going, action)):
            self._go_on(going, Outcome(error=why))
        elif _needs_caller(action):
            self._with_caller(going, action)
        else:
            if going.slot is None or not going.slot.is_held:
                self._give_back_caller(going)
            if isinstance(action, Blocking):
                self._callers.aside(going, action, self._arrive)
            else:
                self._gather(going, action)

    def _with_caller(self, going: RunningTicket, action: Step[Any]) -> None:
        """Do what needs a caller, as soon as one can be kept for the ticket."""
        if not (going.has_caller or self._is_one_free):
            if self._share and not self._for_a_caller:
                self._share.soon()
            self._for_a_caller.insert(_place(self._for_a_caller, going), (going, action))
            return
        self._keep_caller(going)
        if isinstance(action, TakeSlot):
            going.slot = action.slot
            action.carry_out()
            self._go_on(going, Outcome())
        else:
            self._callers.carry_out(going, action, self._arrive)

    def _gather(self, going: RunningTicket, action: Step[Any]) -> None:
        """Keep what is done for many at once."""
        ready = self._ready
        if isinstance(action, DbOp) and action.linger:
            if not self._lingering:
                self._lingering_since = time.monotonic()
            ready = self._lingering
        elif isinstance(action, DbOp) and action.lane == "read":
            ready = self._to_read
        ready.append((going, action))

    def _why_not(self, going: RunningTicket, action: Starting[Any]) -> NotBegun | None:
        """Return why nothing begins for a ticket any more; None: it may.

        Where the process is to end the ticket is notified; after a pause the sweep notifies what is due.
        """
        if self._stopped_at:
            with self._change:
                self._notified[going.ticket_id] = None
            return NotBegun(Fault.WORKER_ENDS())
        if isinstance(action, Admission) and not self._not_told:
            going.outages = self._outages
        return NotBegun(self._because) if going.outages < self._outages else None

    def _look_again(self) -> None:
        """See to all that wait once more: what they would begin may not begin any more."""
        waiting = [*self._callers.withdraw(), *self._ready, *self._to_read, *self._for_a_caller]
        self._ready, self._to_read = [], []
        self._for_a_caller.clear()
        for going, action in waiting:
            self._see_to(going, action)

    def _is_new_no_more(self, going: RunningTicket) -> None:
        self._new -= going.is_new
        going.is_new = False

    def _end(self, going: RunningTicket, fault: Exception | None) -> None:
        self._give_back_caller(going)
        self._is_new_no_more(going)
        self._not_told.discard(going.ticket_id)
        del self._going[going.ticket_id]
        going.own.end(failed=fault is not None and not isinstance(fault, LockBusy))
        if isinstance(fault, SQLAlchemyError | RedisError):
            kind = type(fault).__name__
            log.warning("put off until the next sweep", error=kind, ticket_id=going.ticket_id)
        elif fault is not None and not isinstance(fault, LockBusy):
            log.error("a ticket could not be worked on", ticket_id=going.ticket_id, exc_info=fault)

    def _keep_caller(self, going: RunningTicket) -> None:
        if not going.has_caller:
            going.has_caller = True
            self._kept += 1

    def _give_back_caller(self, going: RunningTicket) -> None:
        if going.has_caller:
            going.has_caller = False
            self._kept -= 1
            self._let_on()

    def _let_on(self) -> None:
        """Give the callers that are free to those that wait for one."""
        while self._for_a_caller and self._is_one_free:
            self._see_to(*self._for_a_caller.popleft())

    def _arrive(self, going: RunningTicket, outcome: Outcome) -> None:
        self._arrivals.put((going, outcome))

    def _stored(self, some: list[tuple[RunningTicket, DbOp[Any]]]) -> list[tuple[RunningTicket, Outcome]]:
        """Do some in one transaction; if it fails, each is done again alone, so that one does not harm the others.

        A claim by the caller that is kept for it; everything else beside the callers, who may all be at slow calls.
        What was answered is always done again: it may have failed for the claim that is made with it.
        """
        try:
            results = _in_one_transaction([action for _, action in some])
        except Exception as fault:  # noqa: BLE001 (whose it is shows where each is alone)
            is_its_own = len(some) == 1 and not some[0][1].splits
            if is_its_own and not isinstance(fault, SQLAlchemyError):
                return [(some[0][0], Outcome(error=fault))]
            log.warning("done again one by one", count=len(some), error=type(fault).__name__)
            for going, action in some:
                do = self._callers.carry_out if going.has_caller and action.order else self._callers.again
                do(going, action, self._arrive)
            return []
        return [(going, Outcome(result)) for (going, _), result in zip(some, results, strict=True)]


def _groups(stored: list[tuple[RunningTicket, DbOp[Any]]]) -> Iterator[list[tuple[RunningTicket, DbOp[Any]]]]:
    """Return what is done in one transaction each: by kind, claims last, and rows in the order of their tickets."""
    stored.sort(key=_order)
    for start in range(0, len(stored), MOST_TOGETHER):
        yield stored[start : start + MOST_TOGETHER]


def _order(asked: tuple[RunningTicket, DbOp[Any]]) -> tuple[int, str, int]:
    going, action = asked
    return action.order, type(action).__name__, going.ticket_id


def _needs_caller(action: Step[Any]) -> bool:
    is_call = isinstance(action, BlockingCall) and action.pool is Pool.TRACKER
    return is_call or isinstance(action, TakeSlot | TrackerCall)


def _in_one_transaction(actions: list[DbOp[Any]]) -> list[Any]:
    results: list[Any] = []
    with transaction_of([one.owner() for one in actions]) as tx:
        # what one of them waits for, it waits for alone
        tx.wait_briefly(
            durable=any(one.durable for one in actions),
            locks_settings=any(one.locks_settings for one in actions),
        )
        for _, of_a_kind in groupby(actions, type):
            some = list(of_a_kind)
            results += some[0].execute_many(tx, some)
    return results
