"""Starts the long-running processes. Workers replace this process: the command line holds none of their code."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.register import add
from producer.cli.services import settings
from shared.process.environment import without_others_secrets
from shared.process.loading import loading

if TYPE_CHECKING:
    from fastapi import FastAPI

    from shared.process.settings import Settings


def register(app: typer.Typer, panel: str) -> None:
    """Add the commands of this module."""
    add(app, producer, panel, "deskbridge producer", "deskbridge producer --host 0.0.0.0 --port 8080")
    add(app, console, panel, "deskbridge console", "deskbridge console --host 0.0.0.0 --port 8081")
    add(app, worker, panel, "deskbridge worker --concurrency 16")
    add(app, beat, panel, "deskbridge beat")


def producer(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8080,
) -> None:
    """Take in the helpdesk's events over HTTP.

    An event is kept in the database before it is acknowledged, whether or not the tracker and the broker are up.
    Secrets that it has no use for (SECRET_KEYS, those of the console) are dropped before it listens.
    """
    _drop_secrets("producer", "--host", host, "--port", str(port))
    with loading():
        from producer.intake.app import create_app

    loaded = settings("producer")
    _require_migrated(loaded, "producer")
    _serve(create_app(loaded, host=host, port=port), loaded, host, port, "producer")


def console(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8081,
) -> None:
    """Serve the pages and the API for administrators.

    Pages for people under /console, the API for programs under /api; who may come in is said with `deskbridge account`.
    Put TLS in front of it wherever it is not on a loopback address.
    """
    from producer.console.app import create_console
    from shared.redis.heartbeat import CONSOLE, Heartbeats
    from shared.redis.installation import Whose
    from shared.redis.locks import make_redis
    from shared.store.tables.database import Database

    loaded = settings("console")
    _require_migrated(loaded, "console")
    whose = Whose(Database(loaded.database_url.get_secret_value()))
    Heartbeats(make_redis(loaded, whose)).keep_marking(CONSOLE)
    _serve(create_console(loaded), loaded, host, port, "console")


def worker(
    concurrency: Annotated[
        int, typer.Option(min=1, max=1000, help="Calls to the tracker at the same time, at most.")
    ] = 32,
) -> None:
    """Send to the tracker what is due.

    Each worker makes as many calls at once as the tracker answers without delay; `deskbridge doctor` says how many.
    """
    _become("worker", "--concurrency", str(concurrency))


def beat() -> None:
    """Have a worker look at each interval for what is due.

    That worker sweeps, and does what is due by the age of its last success: metadata, pruning, comparing with the
    helpdesk. One beat is enough, and a second one is harmless.
    """
    _become("beat")


def _serve(application: FastAPI, loaded: Settings, host: str, port: int, process: str) -> None:
    import uvicorn

    from producer.http.connections import allow_open_files, server_options
    from shared.telemetry import reporting
    from shared.telemetry.logs import get_logger, log_crashes

    log_crashes()
    reporting.start(loaded, process)
    get_logger(process).info("listening", host=host, port=port)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # uvicorn raises it again once it has shut down
    allow_open_files()
    try:
        uvicorn.run(application, host=host, port=port, **server_options(loaded.trusted_proxies))
    except SystemExit as ended:
        raise typer.Exit(1 if ended.code else 0) from None


def _require_migrated(loaded: Settings, process: str) -> None:
    """Refuse to start on a database without its tables; one that is down for a while is the process's to wait for.

    Raises:
        SettingsError: `deskbridge migrate` is due.
    """
    from shared.store.tables.schema import is_current
    from shared.telemetry.logs import get_logger

    if not is_current(loaded):
        get_logger(process).warning("the database cannot be reached at the moment; starting all the same")


def _drop_secrets(*arguments: str) -> None:
    """Begin anew without the secrets that the producer has no use for.

    Taking them out of this process's environment would leave them where the system shows it (/proc/PID/environ).
    """
    dropped, environ = without_others_secrets()
    if not dropped:
        return
    from shared.telemetry.logs import configure_logging, get_logger

    configure_logging(None, process="producer")  # the settings are read by the process that begins anew
    get_logger("producer").warning(
        "dropped what the producer has no use for; better not to give it", names=dropped
    )
    command = [sys.executable, "-m", "producer.cli.main", *arguments]
    os.execve(sys.executable, command, environ)  # noqa: S606 (no shell is meant)


def _become(*arguments: str) -> None:
    os.execv(sys.executable, [sys.executable, "-m", "worker", *arguments])  # noqa: S606 (no shell is meant)
