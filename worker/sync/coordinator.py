"""Drives many tickets' ways at once, and shares what they ask for (DESIGN "Many at once").

Whoever is ready goes on; what the ways then ask for is gathered by kind and done as one: statements, commits, round
trips. Nobody waits for a group: it is whatever has gathered while the last one was carried out, as a database groups
its commits. Calls, and whatever else may take long, go to a bounded number of callers, so that a slow one holds up its
own ticket only. A claim is made only for a caller that is free, since its lease runs from then on.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from shared.logs import get_logger
from shared.store import Store
from worker.sync.actions import Action, Together, Way, drive
from worker.sync.creation import Claim
from worker.sync.forward import Leave, Load
from worker.sync.run import Stored, transaction_of

log = get_logger("sync")
WAYS_PER_CALLER = 3
"""Tickets that are under way for each caller: beside the one that it calls for, they load, link, or wait for one."""

RUNG_PER_WAY = 4
ORDER: dict[type, int] = {Leave: -1, Claim: 1}
"""The order within a transaction: the configuration before any ticket, as for whoever changes it; then what came of the
calls, and the next claims."""


@dataclass(eq=False)
class Going:
    """A ticket that is on its way.

    Attributes:
        has_caller: whether a caller is kept for it.
    """

    ticket_id: int
    way: Way[Any]
    has_caller: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an action: a result, or an error that is raised where the way stands."""

    result: Any = None
    error: Exception | None = None


Arrive = Callable[[Going, Outcome], None]


class Callers(Protocol):
    """Carries actions out beside the coordinator.

    Attributes:
        count: how many at once.
    """

    count: int

    def carry_out(self, going: Going, action: Action[Any], arrive: Arrive) -> None:
        """Begin an action; one of them is free. What comes of it is told by `arrive`, from any thread."""

    def close(self) -> None:
        """End them."""


class CallerThreads:
    """Callers, each a thread that keeps its own connection to the tracker.

    Args:
        count: how many.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._begun: SimpleQueue[tuple[Going, Action[Any], Arrive] | None] = SimpleQueue()
        for number in range(count):
            threading.Thread(target=self._work, daemon=True, name=f"caller-{number}").start()

    def carry_out(self, going: Going, action: Action[Any], arrive: Arrive) -> None:
        """Hand it to whichever is free."""
        self._begun.put((going, action, arrive))

    def close(self) -> None:
        """End the threads, each once it has nothing left to do."""
        for _ in range(self.count):
            self._begun.put(None)

    def _work(self) -> None:
        while (begun := self._begun.get()) is not None:
            going, action, arrive = begun
            arrive(going, outcome_of(action))


def outcome_of(action: Action[Any]) -> Outcome:
    """Carry an action out for its ticket alone."""
    try:
        return Outcome(action.carry_out())
    except Exception as fault:  # noqa: BLE001 (it belongs to the way, where it stands)
        return Outcome(error=fault)


class Coordinator:
    """Drives the ways of the tickets that it is told of, each of them once at a time.

    Args:
        begin: returns the way of a ticket.
        store: what the ways read and change.
        callers: carry out what may take long.
        give_up: called where it has failed itself; what is under way is left as by a process that dies.
    """

    def __init__(
        self,
        begin: Callable[[int], Way[Any]],
        store: Store,
        callers: Callers,
        give_up: Callable[[], None] = lambda: None,
    ) -> None:
        self._begin, self._store, self._callers, self._give_up = begin, store, callers, give_up
        self._most, self._free = WAYS_PER_CALLER * callers.count, callers.count
        self._going: dict[int, Going] = {}
        self._arrivals: SimpleQueue[tuple[Going, Outcome] | None] = SimpleQueue()
        self._done: list[tuple[Going, Outcome]] = []
        self._ready: list[tuple[Going, Action[Any]]] = []
        self._for_a_caller: deque[tuple[Going, Action[Any], bool]] = deque()
        self._change = threading.Condition()
        self._rung: dict[int, None] = {}
        self._is_stopping = False
        self._thread: threading.Thread | None = None

    @property
    def is_at_work(self) -> bool:
        """Whether it has anything to do."""
        return bool(self._going or self._rung)

    def take(self, ticket_ids: Collection[int]) -> list[int]:
        """Have tickets worked on; wait as long as too many wait already.

        Returns:
            Those that will not be: the process is to end.
        """
        with self._change:
            self._change.wait_for(lambda: self._is_stopping or len(self._rung) < RUNG_PER_WAY * self._most)
            if self._is_stopping:
                return list(ticket_ids)
            self._rung.update(dict.fromkeys(ticket_ids))
        self._arrivals.put(None)
        return []

    def start(self) -> None:
        """Work in a thread of its own, until it is closed."""
        self._thread = threading.Thread(target=self._work, daemon=True, name="coordinator")
        self._thread.start()

    def stop(self) -> None:
        """Begin nothing any more; what is under way goes on to its end."""
        with self._change:
            self._is_stopping = True
            self._change.notify_all()
        self._arrivals.put(None)

    def close(self) -> list[int]:
        """Stop, and wait for what is under way; return the tickets that were not begun."""
        self.stop()
        if self._thread is not None:
            self._thread.join()
        self._callers.close()
        return list(self._rung)

    def drive(self, ticket_ids: Iterable[int]) -> None:
        """Drive some tickets to their ends in this thread.

        Raises:
            BaseException: what ends the process; every way has got it.
        """
        self._rung.update(dict.fromkeys(ticket_ids))
        self._arrivals.put(None)
        try:
            while self.is_at_work:
                self._turn()
        except BaseException as end:
            for going in self._going.values():
                with suppress(BaseException):
                    drive(going.way, end)
            raise

    def _work(self) -> None:
        try:
            while self._going or not self._is_stopping:
                self._turn()
        except Exception as fault:
            log.critical("the coordinator has failed; nothing goes on in this process", exc_info=fault)
            self._give_up()

    def _turn(self) -> None:
        """Let everybody go on who is ready; then do what they ask for, each kind as one.

        What is new is read last, in a transaction of its own: the calls that were claimed for have begun by then.
        """
        for going, outcome in self._arrived():
            self._go_on(going, outcome)
        self._begin_more()
        ready, self._ready = self._ready, []
        new = [one for one in ready if isinstance(one[1], Load)]
        known = [one for one in ready if not isinstance(one[1], Load)]
        for going, outcome in [*self._stored(known), *self._shared(known)]:
            self._go_on(going, outcome)
        self._done = list(self._stored(new))

    def _arrived(self) -> list[tuple[Going, Outcome]]:
        """Return whose actions are done; wait for one only where nothing else is to be done."""
        arrived, self._done = self._done, []
        try:
            one = self._arrivals.get(block=not (arrived or self._ready or self._to_begin()))
            while True:
                if one is not None:
                    arrived.append(one)
                one = self._arrivals.get_nowait()
        except Empty:
            return arrived

    def _to_begin(self) -> list[int]:
        """Return the tickets for which there is room: all that wait, or else several, which are read together.

        One that is under way is begun once more after its end.
        """
        with self._change:
            some = [] if self._is_stopping else [one for one in self._rung if one not in self._going]
        together = min(len(some), self._callers.count)
        return some[:together] if len(self._going) + together <= self._most else []

    def _begin_more(self) -> None:
        """Begin the tickets for which there is room."""
        begun = self._to_begin()
        with self._change:
            for ticket_id in begun:
                del self._rung[ticket_id]
            if begun:
                self._change.notify_all()
        for ticket_id in begun:
            going = self._going[ticket_id] = Going(ticket_id, self._begin(ticket_id))
            self._go_on(going, Outcome())

    def _go_on(self, going: Going, outcome: Outcome) -> None:
        """Let a ticket go on to its next wait."""
        while True:
            try:
                way = going.way
                action = way.send(outcome.result) if outcome.error is None else way.throw(outcome.error)
            except StopIteration:
                self._end(going, None)
                return
            except Exception as fault:  # noqa: BLE001 (one ticket's; the others go on)
                self._end(going, fault)
                return
            if not action.is_immediate:
                break
            outcome = outcome_of(action)
        is_shared = isinstance(action, Together | Stored)
        if is_shared and not (isinstance(action, Stored) and action.is_sent):
            self._give_back_caller(going)
            self._ready.append((going, action))
        else:
            self._with_a_caller(going, action, alone=not is_shared)

    def _end(self, going: Going, fault: Exception | None) -> None:
        self._give_back_caller(going)
        del self._going[going.ticket_id]
        if isinstance(fault, SQLAlchemyError | RedisError):
            kind = type(fault).__name__
            log.warning("put off until the next sweep", error=kind, ticket_id=going.ticket_id)
        elif fault is not None:
            log.error("a ticket could not be worked on", ticket_id=going.ticket_id, exc_info=fault)

    def _with_a_caller(self, going: Going, action: Action[Any], *, alone: bool) -> None:
        """Have a caller carry an action out; or, not alone, keep one for the call that follows it."""
        if not going.has_caller:
            if not self._free:
                self._for_a_caller.append((going, action, alone))
                return
            self._free -= 1
            going.has_caller = True
        if alone:
            self._callers.carry_out(going, action, self._arrive)
        else:
            self._ready.append((going, action))

    def _give_back_caller(self, going: Going) -> None:
        if not going.has_caller:
            return
        going.has_caller = False
        self._free += 1
        if self._for_a_caller:
            following, action, alone = self._for_a_caller.popleft()
            self._with_a_caller(following, action, alone=alone)

    def _arrive(self, going: Going, outcome: Outcome) -> None:
        self._arrivals.put((going, outcome))

    def _shared(self, ready: list[tuple[Going, Action[Any]]]) -> Iterator[tuple[Going, Outcome]]:
        """Do what is one round trip for all of its kind."""
        kinds = defaultdict[type[Together[Any]], list[tuple[Going, Together[Any]]]](list)
        for going, action in ready:
            if isinstance(action, Together):
                kinds[type(action)].append((going, action))
        for kind, some in kinds.items():
            try:
                results = kind.carry_out_all([action for _, action in some])
            except Exception as fault:  # noqa: BLE001 (it belongs to each of them)
                results = [fault] * len(some)
            for (going, _), result in zip(some, results, strict=True):
                yield going, Outcome(error=result) if isinstance(result, Exception) else Outcome(result)

    def _stored(self, ready: list[tuple[Going, Action[Any]]]) -> Iterator[tuple[Going, Outcome]]:
        """Do what is one transaction for all; where it fails, each is done again alone, so that one harms nobody."""
        some = list[tuple[Going, Stored[Any]]]()
        for going, action in ready:
            if isinstance(action, Stored):
                try:
                    action.get_ready()
                except Exception as fault:  # noqa: BLE001 (this one's alone)
                    yield going, Outcome(error=fault)
                else:
                    some.append((going, action))
        some.sort(key=lambda one: (ORDER.get(type(one[1]), 0), one[0].ticket_id))
        try:
            results = self._in_one_transaction([action for _, action in some])
        except Exception as fault:  # noqa: BLE001 (whose it is shows where each is alone)
            log.warning("done again one by one", count=len(some), error=type(fault).__name__)
            for going, action in some:
                self._with_a_caller(going, action, alone=True)
            return
        for (going, _), result in zip(some, results, strict=True):
            yield going, Outcome(result)

    def _in_one_transaction(self, actions: list[Stored[Any]]) -> list[Any]:
        results: list[Any] = []
        if actions:
            runs = [run for one in actions if (run := one.noted_by()) is not None]
            with transaction_of(self._store, runs) as tx:
                tx.wait_briefly()  # what one of them waits for, it waits for alone
                if all(isinstance(one, Load) for one in actions):
                    tx.need_not_last()  # it follows from the journal
                for _, of_a_kind in groupby(actions, type):
                    some = list(of_a_kind)
                    results += some[0].all_within(tx, some)
        return results
