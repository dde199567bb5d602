"""Drives many tickets to their ends in the thread of whoever asks."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from worker.sync.actions import drive
from worker.sync.coordinator import Coordinator


def drive_together(coordinator: Coordinator, ticket_ids: Iterable[int]) -> None:
    """Drive some tickets as a worker does that shares their steps.

    Raises:
        BaseException: what ends the process; every way has got it.
    """
    coordinator.take(list(ticket_ids))
    try:
        while coordinator.is_at_work:
            coordinator._turn()
    except BaseException as end:
        for going in coordinator._going.values():
            with suppress(BaseException):
                drive(going.way, end)
        raise
