"""Drives the workflows of many tickets in one thread and in simulated time."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.model.clock import Clock
from tests.model.loop import SimulatedLoop
from tests.support.together import Begin, drive_all
from worker.runtime.scheduler import Scheduler

CALLS = 2


def drive_together(begin: Begin, ticket_ids: Sequence[int], clock: Clock, order: Random) -> None:
    """Run the workflows of some tickets to their ends.

    Args:
        begin: returns the workflow of a ticket.
        ticket_ids: the tickets.
        clock: the simulated time.
        order: draws the order in which executor functions finish.

    Raises:
        BaseException: if something ends the process; every workflow has received it.
    """

    def new_loop() -> SimulatedLoop:
        return SimulatedLoop(clock, order)  # type: ignore[abstract]  # nothing here uses what it omits

    drive_all(Scheduler(begin, CALLS, new_loop=new_loop), ticket_ids)
