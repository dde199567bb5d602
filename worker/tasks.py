"""The Celery tasks: thin, keyword-only, named by constants; `**_` lets old and new workers run together."""

from __future__ import annotations

from celery import Celery

from shared.broker import PRUNE, SWEEP, SYNC_METADATA, SYNC_TICKET
from worker.bootstrap import Worker
from worker.metadata import sync_metadata


def register(app: Celery, worker: Worker) -> None:
    """Register every task of the worker on its application."""

    @app.task(name=SYNC_TICKET)  # type: ignore[untyped-decorator]
    def sync_ticket(*, ticket_id: int, **_: object) -> None:
        worker.service.sync(ticket_id)

    @app.task(name=SWEEP)  # type: ignore[untyped-decorator]
    def sweep(**_: object) -> None:
        worker.sweep.run()

    @app.task(name=SYNC_METADATA)  # type: ignore[untyped-decorator]
    def metadata(**_: object) -> None:
        sync_metadata(worker)

    @app.task(name=PRUNE)  # type: ignore[untyped-decorator]
    def prune(**_: object) -> None:
        worker.sweep.prune()
