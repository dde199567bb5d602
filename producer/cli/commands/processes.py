"""Starts the long-running processes. Workers replace this process: the command line holds none of their code."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.register import Panel, command
from producer.cli.services import settings
from shared.process.environment import PRODUCER_PORT, without_others_secrets
from shared.process.loading import loading

if TYPE_CHECKING:
    from fastapi import FastAPI

    from shared.process.settings import Settings


@command(Panel.RUN, "producer", "deskbridge producer", "deskbridge producer --host 0.0.0.0 --port 8080")
def producer(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = PRODUCER_PORT,
) -> None:
    """Receive events from GLPI over HTTP.

    The producer stores each event in the database before it acknowledges it, even if Redmine or the broker is down. It
    drops the secrets that only other processes need (DESKBRIDGE_SECRET_KEYS and those of the console).
    """
    _drop_secrets("producer", "--host", host, "--port", str(port))
    with loading():
        from producer.intake.app import create_app

    loaded = settings("producer")
    _require_migrated(loaded, "producer")
    _serve(create_app(loaded, host=host, port=port), loaded, host, port, "producer")


@command(Panel.RUN, "console", "deskbridge console", "deskbridge console --port 8081")
def console(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8081,
) -> None:
    """Serve the console and its API.

    The pages are under /console, the API is under /api. Manage who can sign in with `deskbridge account`. If the
    console listens on another address than loopback, put a reverse proxy with TLS in front.
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


@command(Panel.RUN, "worker", "deskbridge worker", "deskbridge worker --concurrency 16")
def worker(
    concurrency: Annotated[
        int, typer.Option(min=1, max=1000, help="Maximum number of concurrent calls to Redmine.")
    ] = 32,
) -> None:
    """Process pending events and send them to Redmine.

    Each worker adjusts its number of concurrent calls to Redmine's speed. `deskbridge doctor` shows the number.
    """
    _become("worker", "--concurrency", str(concurrency))


@command(Panel.RUN, "beat", "deskbridge beat")
def beat() -> None:
    """Schedule the periodic jobs.

    Workers then do the sweep, the metadata sync, the pruning and the comparison with GLPI when they are due. One beat
    is enough, and a second one is harmless.
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
    """Refuse to start on a database whose tables are not current; if it is down, the process waits for it.

    Raises:
        SettingsError: if `deskbridge migrate` is due.
    """
    from shared.store.tables.schema import is_current
    from shared.telemetry.logs import get_logger

    if not is_current(loaded):
        get_logger(process).warning("the database cannot be reached at the moment; starting all the same")


def _drop_secrets(*arguments: str) -> None:
    """Restart this process without the secrets that the producer does not need.

    If they were only removed from the environment, the system would still show them (/proc/PID/environ).
    """
    dropped, environ = without_others_secrets()
    if not dropped:
        return
    from shared.telemetry.logs import configure_logging, get_logger

    configure_logging(None, process="producer")  # the restarted process reads the settings
    get_logger("producer").warning(
        "dropped what the producer has no use for; better not to give it", names=dropped
    )
    command = [sys.executable, "-m", "producer.cli.main", *arguments]
    os.execve(sys.executable, command, environ)  # noqa: S606 (no shell is meant)


def _become(*arguments: str) -> None:
    os.execv(sys.executable, [sys.executable, "-m", "worker", *arguments])  # noqa: S606 (no shell is meant)
