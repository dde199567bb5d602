"""Drives the workflows of many tickets in one thread, as a worker that shares their steps does in several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tests.model.clock import Clock
from tests.support.together import Begin, drive_all
from worker.runtime.scheduler import Arrive, Asked, RunningTicket, Scheduler, outcome_of, shared
from worker.ticket.steps import Step


class OneByOne:
    """Stands for a scheduler's callers: whatever may take long is done at once, and before anything else."""

    count, busy_since, late_since = 2, None, None

    def carry_out(self, going: RunningTicket, action: Step[Any], arrive: Arrive) -> None:
        """Do it; what kills the worker leaves it no further step."""
        outcome = outcome_of(going, action)
        if outcome.error is not None and not isinstance(outcome.error, Exception):
            raise outcome.error
        arrive(going, outcome)

    again = aside = carry_out

    def allow(self, most: int) -> None:
        """One is at work at a time, whatever may be."""

    def hold(self) -> None:
        """Whatever was given has been done."""

    def withdraw(self) -> list[Asked]:
        """Return nothing, likewise."""
        return []

    def together(self, asked: list[Asked], arrive: Arrive) -> None:
        """Do them."""
        for going, outcome in shared(asked):
            arrive(going, outcome)

    def read(self, do: Callable[[], None]) -> None:
        """Do it."""
        do()

    def close(self) -> None:
        """There is nothing to end."""


def drive_together(begin: Begin, ticket_ids: Sequence[int], clock: Clock, order: Random) -> None:
    """Drive some tickets to their ends; neither time passes meanwhile, nor is any order drawn.

    Raises:
        BaseException: what ends the process; every workflow has got it.
    """
    drive_all(Scheduler(begin, OneByOne()), ticket_ids)
