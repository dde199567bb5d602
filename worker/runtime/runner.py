"""Runs the workflow of one ticket on the event loop, and executes each step that it awaits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from shared.errors import NotStarted
from worker.runtime.admission import Admission
from worker.runtime.lanes import ExecuteAlone, Lane, commit_lane, round_trip
from worker.runtime.slots import Slots
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
    TakeFile,
    TakeSlot,
    TrackerCall,
    Workflow,
)

AFTER_CALLS, HELPDESK, OTHERS, ALONE = 2, 4, 4, 4
"""Threads apart from those of calls: for bookkeeping after a call, for queries to the help desk, for everything else
that takes long, and, for each database lane, for the operations of a failed batch."""

MOST_THREADS = 2 + AFTER_CALLS + HELPDESK + OTHERS + 2 * ALONE
"""All threads, apart from those of calls, that may use the database, including the two lanes."""

MOST_FILES, FILE_PATIENCE_S = 2, 2.0
"""The most files held at once, since a container's `/tmp` has 64 MB; and the seconds that a ticket waits for one."""

READ_LINGER_S, WRITE_LINGER_S = 0.0003, 0.00015
"""The seconds to gather operations for each running ticket beyond the first: more tickets give larger batches. A
single ticket does not wait."""


@dataclass(eq=False)
class RunningTicket:
    """A ticket that is being synced.

    Attributes:
        outages: how many outages this process knew of when the ticket was admitted.
        slot: the slot of its last claim.
        task: runs the workflow; kept here, because the loop itself keeps no reference.
    """

    ticket_id: int
    workflow: Workflow[Any]
    has_priority: bool = False
    outages: int = 0
    slot: Slot = field(default_factory=Slot)
    task: asyncio.Task[Any] | None = None


class Runner:
    """Executes the steps of workflows.

    Args:
        most_calls: the most calls that can be made at once.
        calls: the slots for calls.
        claims: the slots for claims.
        admission: decides whether something new may start.
        running: the tickets that are running.
    """

    def __init__(
        self,
        most_calls: int,
        calls: Slots,
        claims: Slots,
        admission: Admission,
        running: Collection[int],
    ) -> None:
        self._calls, self._claims, self._admission = calls, claims, admission
        self._files = Slots(lambda: MOST_FILES)
        self._files_again = Slots(lambda: MOST_FILES - 1)
        self._threads = Threads()
        self._pools = {
            Pool.TRACKER: ThreadPoolExecutor(most_calls, "call"),
            Pool.NOTES: ThreadPoolExecutor(AFTER_CALLS, "after-call"),
            Pool.HELPDESK: ThreadPoolExecutor(HELPDESK, "helpdesk"),
            Pool.OTHERS: ThreadPoolExecutor(OTHERS, "others"),
        }
        self._write = commit_lane("writer", lambda: WRITE_LINGER_S * (len(running) - 1))
        self._read = commit_lane("reader", lambda: READ_LINGER_S * (len(running) - 1))
        self._write_alone = ThreadPoolExecutor(ALONE, "writer-alone")
        self._read_alone = ThreadPoolExecutor(ALONE, "reader-alone")
        self._redis = Lane[RedisOp[Any]]("redis", round_trip)

    @property
    def group_since(self) -> float | None:
        """When the oldest batch that is being executed was started (monotonic seconds); None if there is none."""
        return min((one.busy_since for one in self._lanes if one.busy_since is not None), default=None)

    @property
    def thread_since(self) -> float | None:
        """When the thread that has been silent for longest last made progress (monotonic); None if none works."""
        return self._threads.busy_since

    async def run(self, ticket: RunningTicket) -> Any:
        """Run a ticket's workflow to its end; return its result.

        Raises:
            Exception: if the workflow does not handle an error.
            BaseException: if an error ends the process; the workflow does not get it, as others would wait for its end.
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
            self._admission.ended(ticket.ticket_id)

    def wake(self) -> None:
        """Make everything that waits for a slot check whether it still may start."""
        for slots in (self._claims, self._calls, self._files, self._files_again):
            slots.wake()

    def hasten(self, ticket: RunningTicket) -> None:
        """Give a running ticket priority; if it waits for a call or a claim, it waits in front from now on."""
        ticket.has_priority = True
        for slots in (self._claims, self._calls):
            slots.wake()

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
            return await self._done(ticket, step)
        except Exception as error:
            if self._admission.note(ticket.ticket_id, error):
                self.wake()
            raise

    async def _done(self, ticket: RunningTicket, step: Step[Any]) -> Any:
        match step:
            case DbOp():
                return await self._run(ticket, step)
            case RedisOp():
                return await self._redis.run(step, ticket.ticket_id)
            case TakeSlot():
                ticket.slot = step.slot
                if not ticket.has_priority:  # a ticket that a person waits for claims at once
                    await self._take(self._claims, ticket)
                    step.slot.give_back = self._claims.release
                return None
            case TakeFile():
                await self._take_file(ticket, step)
                return None
            case TrackerCall():
                async with self._call_slot(ticket):
                    return await step.send()
            case BlockingCall(pool=Pool.TRACKER):
                async with self._call_slot(ticket):
                    return await self._threads.run(self._pools[step.pool], step.carry_out)
            case Blocking():
                return await self._threads.run(self._pools[step.pool], step.carry_out)
        raise TypeError(step)

    async def _run(self, ticket: RunningTicket, operation: DbOp[Any]) -> Any:
        """Execute an operation in a transaction that other operations may share, or alone if that has failed."""
        reads = operation.lane == "read"
        try:
            return await (self._read if reads else self._write).run(operation, ticket.ticket_id)
        except ExecuteAlone:
            if operation.splits:  # its link may wait long for its row; no claim should wait for that
                ticket.slot.release()
            pool = self._read_alone if reads else self._write_alone
            if ticket.slot.is_held:  # a claim must not wait behind links
                pool = self._pools[Pool.TRACKER]
            return await self._threads.run(pool, operation.carry_out)

    @property
    def _lanes(self) -> tuple[Lane[Any], ...]:
        return self._write, self._read, self._redis

    @asynccontextmanager
    async def _call_slot(self, ticket: RunningTicket) -> AsyncIterator[None]:
        """Hold a slot for a call."""
        await self._take(self._calls, ticket)
        try:
            yield
        finally:
            self._calls.release()

    async def _take_file(self, ticket: RunningTicket, step: TakeFile) -> None:
        """Take a slot for a file; files that failed before leave one to the others, since they may be slow again."""
        with ExitStack() as held:
            for slots in (self._files_again, self._files) if step.slot.is_retry else (self._files,):
                if not await self._take(slots, ticket, FILE_PATIENCE_S):
                    return
                held.callback(slots.release)
            step.slot.give_back = held.pop_all().close

    async def _take(self, slots: Slots, ticket: RunningTicket, patience: float | None = None) -> bool:
        """Take a slot; return whether one became free within the patience (in seconds; None for no limit).

        Raises:
            NotStarted: if the ticket may not start anything new any more.
        """
        while not await slots.take(has_priority=ticket.has_priority, patience=patience):
            self._admission.check(ticket.ticket_id, ticket.outages)
            if patience is not None:
                return False
        try:
            self._admission.check(ticket.ticket_id, ticket.outages)
        except NotStarted:
            slots.release()
            raise
        return True
