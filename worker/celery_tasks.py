"""The Celery tasks: thin, keyword-only, named by constants; `**_` lets old and new workers run together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from celery import Celery
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from shared.queue.publisher import PRUNE, SWEEP, SYNC_METADATA, SYNC_TICKET
from shared.store.tables.database import words_for_the_log
from shared.telemetry.logs import get_logger
from shared.telemetry.traceparent import read_of_tickets
from shared.values.ids import is_id
from worker.app import Worker
from worker.dry_runs import clean_dry_runs
from worker.maintenance import do_maintenance
from worker.message_handler import at_once

log = get_logger("tasks")


def register(app: Celery, worker: Worker) -> None:
    """Register every task of the worker on its application."""

    def take(message: Mapping[str, Any]) -> bool:
        """Hand tickets over, unless it is to be waited for."""
        if "if_due" in message or not worker.ability.is_able:
            return False
        with worker.watchdog.at_work():
            tickets = [message["ticket_id"], *message.get("others", ())]
            return worker.scheduler.has_taken(tickets, read_of_tickets(message.get("traces"), tickets))

    @app.task(name=SYNC_TICKET, shared=False, Strategy=at_once(take))  # type: ignore[untyped-decorator]
    def sync_ticket(
        *,
        ticket_id: object = None,
        others: object = (),
        traces: object = None,
        if_due: object = None,
        **_: object,
    ) -> None:
        """Hand the tickets over; the message may then be gone: the sweep notifies again what is not done.

        A broker that anybody can write to may bring anything.
        """
        with worker.watchdog.at_work():
            named = (ticket_id, *(others if isinstance(others, Sequence) else ()))
            tickets = [one for one in named if is_id(one)]
            if not worker.ability.wait():
                worker.service.notify(tickets)
                return
            if if_due is True:
                tickets = worker.still_due(tickets)
            if left := worker.scheduler.take(tickets, read_of_tickets(traces, tickets)):
                worker.service.notify(left)

    @app.task(name=SWEEP, shared=False)  # type: ignore[untyped-decorator]
    def sweep(**_: object) -> None:
        with worker.watchdog.at_work(), left_to_the_sweep():
            worker.sweep.run()
            clean_dry_runs(worker)
            do_maintenance(worker)

    @app.task(name=SYNC_METADATA, shared=False)  # type: ignore[untyped-decorator]
    @app.task(name=PRUNE, shared=False)  # type: ignore[untyped-decorator]
    def maintenance(**_: object) -> None:
        """What a beat of the version before sends."""
        with worker.watchdog.at_work(), left_to_the_sweep():
            do_maintenance(worker)


@contextmanager
def left_to_the_sweep(**about: object) -> Iterator[None]:
    """Log that the database or Redis failed; whatever was not done is done when the sweep notifies again."""
    try:
        yield
    except (SQLAlchemyError, RedisError) as error:
        log.warning(
            "put off until the next sweep", error=type(error).__name__, said=words_for_the_log(error), **about
        )
