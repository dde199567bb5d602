"""The Celery tasks: thin, keyword-only, named by constants; `**_` lets old and new workers run together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from celery import Celery
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from shared.coordination.doorbell import PRUNE, SWEEP, SYNC_METADATA, SYNC_TICKET
from shared.coordination.presence import BEAT
from shared.logs import get_logger
from worker.bootstrap import Worker
from worker.dry_runs import clean_dry_runs
from worker.upkeep import keep_up

log = get_logger("tasks")


def register(app: Celery, worker: Worker) -> None:
    """Register every task of the worker on its application."""

    @contextmanager
    def at_work(**about: object) -> Iterator[None]:
        with worker.watchdog.at_work(), left_to_the_sweep(**about):
            yield

    @app.task(name=SYNC_TICKET)  # type: ignore[untyped-decorator]
    def sync_ticket(*, ticket_id: int, **_: object) -> None:
        with at_work(ticket_id=ticket_id):
            worker.service.sync(ticket_id)

    @app.task(name=SWEEP)  # type: ignore[untyped-decorator]
    def sweep(**_: object) -> None:
        with at_work():
            worker.presence.mark(BEAT)
            worker.sweep.run()
            clean_dry_runs(worker)
            keep_up(worker)

    @app.task(name=SYNC_METADATA)  # type: ignore[untyped-decorator]
    @app.task(name=PRUNE)  # type: ignore[untyped-decorator]
    def upkeep(**_: object) -> None:
        """What a beat of the version before sends."""
        with at_work():
            keep_up(worker)


@contextmanager
def left_to_the_sweep(**about: object) -> Iterator[None]:
    """Log that the database or Redis failed; whatever was not done is done when the sweep rings again."""
    try:
        yield
    except (SQLAlchemyError, RedisError) as error:
        log.warning("put off until the next sweep", error=type(error).__name__, **about)
