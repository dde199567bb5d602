"""Runs the workflow of one ticket on the event loop: carries out each step that it awaits."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from worker.runtime.admission import Admission
from worker.runtime.lanes import ExecuteAlone, Lane, commit_lane, round_trip
from worker.runtime.slots import CallSlots
from worker.runtime.threads import Threads
from worker.ticket.context import DbOp
from worker.ticket.steps import Admission as Admit
from worker.ticket.steps import (
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

AFTER_CALLS, HELPDESK, OTHERS, ALONE = 2, 4, 4, 4
"""Threads beside those of calls: for what is noted after one, for questions to the help desk, for everything else that
takes long, and for the operations of a group that has failed."""

READ_LINGER_S, WRITE_LINGER_S = 0.004, 0.001
"""So long operations are gathered when several tickets are running: reads of new tickets share most."""


@dataclass(eq=False)
class RunningTicket:
    """A ticket that is being synced.

    Attributes:
        outages: how many this process knew of when the ticket was let in.
        has_slot: whether it holds one of the calls that may be made at once.
        slot: keeps the slot as long as the workflow is within its block.
    """

    ticket_id: int
    workflow: Workflow[Any]
    has_priority: bool = False
    outages: int = 0
    has_slot: bool = False
    slot: Slot | None = None


class Runner:
    """Carries out the steps of workflows.

    Args:
        calls: how many calls can be made at once at most.
        slots: the calls that may be made at once now.
        admission: says whether something new may start.
        shares: tells whether several tickets are running, whose operations are gathered.
    """

    def __init__(
        self, calls: int, slots: CallSlots, admission: Admission, shares: Callable[[], bool]
    ) -> None:
        self._slots, self._admission = slots, admission
        self._threads = Threads()
        self._pools = {
            Pool.TRACKER: ThreadPoolExecutor(calls, "call"),
            Pool.NOTES: ThreadPoolExecutor(AFTER_CALLS, "after-call"),
            Pool.HELPDESK: ThreadPoolExecutor(HELPDESK, "helpdesk"),
            Pool.OTHERS: ThreadPoolExecutor(OTHERS, "others"),
        }
        self._write = commit_lane("writer", lambda: WRITE_LINGER_S if shares() else 0.0)
        self._read = commit_lane("reader", lambda: READ_LINGER_S if shares() else 0.0)
        self._write_alone = ThreadPoolExecutor(ALONE, "writer-alone")
        self._read_alone = ThreadPoolExecutor(ALONE, "reader-alone")
        self._redis = Lane[RedisOp[Any]]("redis", round_trip)

    @property
    def group_since(self) -> float | None:
        """When the oldest group that is being executed was begun (monotonic seconds); None: there is none."""
        return min((one.busy_since for one in self._lanes if one.busy_since is not None), default=None)

    @property
    def thread_since(self) -> float | None:
        """The last sign of progress of the thread that has been silent for longest (monotonic); None: none works."""
        return self._threads.busy_since

    async def run(self, ticket: RunningTicket) -> Any:
        """Run a ticket's workflow to its end; return its result.

        Raises:
            Exception: what the workflow does not handle.
            BaseException: what ends the process; the workflow does not get it, since others would wait for its end.
        """
        result: Any = None
        error: Exception | None = None
        try:
            while True:
                try:
                    step = ticket.workflow.send(result) if error is None else ticket.workflow.throw(error)
                except StopIteration as end:
                    return end.value
                try:
                    result, error = await self._carry_out(ticket, step), None
                except Exception as failed:  # noqa: BLE001 (it belongs to the workflow)
                    result, error = None, failed
        finally:
            self._give_back_slot(ticket)
            self._admission.ended(ticket.ticket_id)

    def close(self) -> None:
        """End the threads, each once it has nothing left to do."""
        for lane in self._lanes:
            lane.close()
        for pool in (*self._pools.values(), self._write_alone, self._read_alone):
            pool.shutdown(wait=False)

    async def _carry_out(self, ticket: RunningTicket, step: Step[Any]) -> Any:
        if isinstance(step, Admit):
            ticket.outages = self._admission.enter(ticket.outages)
        if isinstance(step, Starting):
            self._admission.check(ticket.ticket_id, ticket.outages)
        try:
            if _needs_slot(step):
                await self._take_slot(ticket)
            elif ticket.slot is None or not ticket.slot.is_held:
                self._give_back_slot(ticket)
            return await self._done(ticket, step)
        except Exception as error:
            if self._admission.note(ticket.ticket_id, error):
                self._slots.wake()
            raise

    async def _done(self, ticket: RunningTicket, step: Step[Any]) -> Any:
        match step:
            case DbOp():
                return await self._run(ticket, step)
            case RedisOp():
                return await self._redis.run(step, ticket.ticket_id)
            case TakeSlot():
                ticket.slot = step.slot
                step.carry_out()
                return None
            case TrackerCall():
                return await step.send()
            case Blocking():
                return await self._threads.run(self._pools[step.pool], step.carry_out)
        raise TypeError(step)

    async def _run(self, ticket: RunningTicket, operation: DbOp[Any]) -> Any:
        """Execute an operation in a transaction that others may share, or alone if that has failed."""
        reads = operation.lane == "read"
        try:
            return await (self._read if reads else self._write).run(operation, ticket.ticket_id)
        except ExecuteAlone:
            if (
                operation.splits
            ):  # its answer may wait for whoever holds its row or the settings; no call does
                self._give_back_slot(ticket)
            pool = self._read_alone if reads else self._write_alone
            if ticket.has_slot:  # a claim: it waits for no answer, but in the thread of its call
                pool = self._pools[Pool.TRACKER]
            return await self._threads.run(pool, operation.carry_out)

    @property
    def _lanes(self) -> tuple[Lane[Any], ...]:
        return self._write, self._read, self._redis

    async def _take_slot(self, ticket: RunningTicket) -> None:
        """Hold a slot; what begins a call may have been stopped while it waited."""
        while not ticket.has_slot:
            ticket.has_slot = await self._slots.take(has_priority=ticket.has_priority)
            self._admission.check(ticket.ticket_id, ticket.outages)

    def _give_back_slot(self, ticket: RunningTicket) -> None:
        if ticket.has_slot:
            ticket.has_slot = False
            self._slots.release()


def _needs_slot(step: Step[Any]) -> bool:
    is_call = isinstance(step, BlockingCall) and step.pool is Pool.TRACKER
    return is_call or isinstance(step, TakeSlot | TrackerCall)
