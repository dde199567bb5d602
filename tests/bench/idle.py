"""A Celery worker with a worker's libraries and none of our modules; its task only counts its runs in the database.

`python -m tests.bench.idle BROKER_URL DATABASE_URL THREADS` reads the names of the modules to load, as a JSON array,
from standard input.
"""

from __future__ import annotations

import importlib
import json
import sys
from contextlib import suppress

from shared.process.loading import loading, without

QUEUE, TASK, DONE = "idle", "nothing", "done"
"""Its queue, its task, and the sequence in the database that counts the task's runs."""


def load(names: list[str]) -> None:
    """Load modules as a worker does; modules that cannot be imported here, or alone, are left out."""
    with loading(), without("rich"):  # as shared.telemetry.logs does
        for name in names:
            with suppress(ImportError):
                importlib.import_module(name)


def work(broker_url: str, database_url: str, threads: int) -> None:
    """Work until it is terminated.

    Args:
        broker_url: URL of Redis.
        database_url: URL of PostgreSQL.
        threads: number of concurrent tasks.
    """
    from celery import Celery  # loaded as a worker does
    from sqlalchemy import create_engine, text

    app, engine = Celery("idle", broker=broker_url), create_engine(database_url, pool_size=threads)
    app.conf.update(task_default_queue=QUEUE, task_ignore_result=True)

    @app.task(name=TASK)  # type: ignore[untyped-decorator]
    def nothing() -> None:
        with engine.begin() as connection:
            connection.execute(text(f"SELECT nextval('{DONE}')")).all()

    app.Worker(
        pool="threads",
        concurrency=threads,
        without_gossip=True,
        without_mingle=True,
        loglevel="ERROR",
        quiet=True,
    ).start()


if __name__ == "__main__":
    load(json.load(sys.stdin))
    work(sys.argv[1], sys.argv[2], int(sys.argv[3]))
