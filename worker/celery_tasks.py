"""The Celery tasks: thin, keyword-only, named by constants."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from celery import Celery

from shared.queue.names import MOST_TICKETS, SYNC_TICKETS
from shared.telemetry.logs import get_logger
from shared.telemetry.traceparent import read_of_tickets
from shared.values.ids import is_id
from worker.app import Worker
from worker.periodic import PeriodicJob

log = get_logger("tasks")
PATIENCE_S = 0.5
"""Seconds that a message waits for room in the scheduler. Then it returns to the end of its queue, so that the priority
queue is soon read again, however slow the tracker is."""


def register(app: Celery, worker: Worker, jobs: Mapping[str, PeriodicJob]) -> None:
    """Register every task of the worker on its application.

    Args:
        app: the application.
        worker: syncs the tickets.
        jobs: by task name, the jobs that beat triggers.
    """
    task = partial(app.task, shared=False)

    @task(name=SYNC_TICKETS)  # type: ignore[untyped-decorator]
    def sync_tickets(
        *,
        ticket_ids: object = (),
        traces: object = None,
        if_due: object = False,
        has_priority: object = False,
        **_: object,
    ) -> None:
        """Pass tickets to the scheduler; the message may be lost after that, since the sweep notifies again."""
        tickets, first = tickets_in(ticket_ids), has_priority is True
        notified_by = read_of_tickets(traces, tickets)
        with worker.progress.at_work():
            if not worker.ability.wait():
                left = tickets
            else:
                if if_due is True:
                    tickets = worker.still_due(tickets)
                left = worker.scheduler.take(tickets, notified_by, has_priority=first, patience=PATIENCE_S)
            if left:
                worker.publisher.notify(left, notified_by, if_due=if_due is True, has_priority=first)

    def register_job(name: str, job: PeriodicJob) -> None:
        @task(name=name)  # type: ignore[untyped-decorator]
        def run_soon(**_: object) -> None:
            """Trigger the job in its own thread: in this one it would block ticket messages."""
            with worker.progress.at_work():
                job.run_soon()

    for name, job in jobs.items():
        register_job(name, job)


def tickets_in(named: object) -> list[int]:
    """Return the valid ticket ids in a message; anyone who can write to the broker may have sent it.

    Args:
        named: the message's `ticket_ids`.
    """
    listed = named[:MOST_TICKETS] if isinstance(named, list | tuple) else ()
    tickets = [one for one in listed if is_id(one)]
    if not isinstance(named, list | tuple) or len(tickets) < len(named):
        log.warning("what a message names beside tickets is left out", tickets=len(tickets))
    return tickets
