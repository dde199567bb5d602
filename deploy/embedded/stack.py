"""All of deskbridge on this machine: Redis, the mock Redmine, producer, worker and beat as child processes."""

from __future__ import annotations

import http.client
import os
import signal
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Self

from deploy.embedded.administration import Administration
from deploy.embedded.ports import HOST
from deploy.embedded.processes import Child, ProcessGroup
from deploy.embedded.redis import RedisServer
from deploy.embedded.workplace import ROOT, Workplace
from deploy.sandbox.samples import Installation

CONCURRENCY = 32
SAID_BY = ("PATH", "TMPDIR", "TZ", "SYSTEMROOT")
NEEDED_BY = {
    "producer": ("DATABASE_URL", "REDIS_URL", "WEBHOOK_SECRETS_FILE", "GLPI_WEBHOOK_SECRETS_FILE"),
    "worker": (
        "DATABASE_URL",
        "REDIS_URL",
        "SECRET_KEYS_FILE",
        "SWEEP_INTERVAL",
        "SETTLING_TIME",
        "LOCK_LEASE",
        "CLAIM_LEASE",
        "RETENTION_DAYS",
    ),
    "console": ("DATABASE_URL", "REDIS_URL", "SECRET_KEYS_FILE", "CONSOLE_TOKENS_FILE", "SETTLING_TIME"),
    "beat": ("DATABASE_URL", "REDIS_URL", "SWEEP_INTERVAL"),
    "tracker": (),
}
Report = Callable[[str], None]


class Stack:
    """The processes of one workplace; a context manager that leaves none behind.

    Args:
        workplace: workplace that this process holds.
        report: called with each part that is being started.
    """

    def __init__(self, workplace: Workplace, report: Report) -> None:
        self.workplace = workplace
        self._report = report
        self._processes = ProcessGroup()
        self._ports = workplace.ports("redis", "tracker", "producer", "console")
        redis_dir = workplace.directory / "redis"
        self._redis = RedisServer(redis_dir, port=self._ports["redis"], password=workplace.redis_password())
        self._environment = workplace.environment(self._redis.url)
        self.administration = Administration(self._environment)

    @property
    def producer_url(self) -> str:
        """The producer's address."""
        return f"http://{HOST}:{self._ports['producer']}"

    @property
    def console_url(self) -> str:
        """The console's address."""
        return f"http://{HOST}:{self._ports['console']}"

    @property
    def tracker_url(self) -> str:
        """The mock Redmine's address."""
        return f"http://{HOST}:{self._ports['tracker']}"

    def start(self, installation: Installation) -> None:
        """Start everything that receives events, and set it up; data of earlier runs remain.

        Raises:
            EmbeddedError: if a process did not start; the message has its name, the reason and its log.
        """
        self._report("Redis")
        self._processes.adopt(self._redis.start())
        self._report("mock Redmine")
        # If this process is killed, the tracker saves its data; the others' data are always safe.
        tracker = self._start("tracker", self._tracker_command(), parent_death_signal=signal.SIGTERM)
        self._report("database")
        self.administration.migrate()
        self._report("producer")
        producer = self._start("producer", _command("producer", "--port", str(self._ports["producer"])))
        tracker.wait_ready(lambda: _answers(self._ports["tracker"], "/_control"))
        self._report("configuration")
        self.administration.set_up(self.tracker_url, self.workplace.tracker_key(), installation)
        producer.wait_ready(lambda: _answers(self._ports["producer"], "/readyz"))
        self.workplace.write_env_file(self._environment)

    def start_workers(self) -> None:
        """Start worker and beat, without waiting for them: the journal keeps the events until then."""
        self._report("worker")
        self._start("worker", _command("worker", "--concurrency", str(CONCURRENCY)))
        self._report("beat")
        self._start("beat", _command("beat"))

    def start_console(self) -> None:
        """Start the console, and wait until it answers.

        Raises:
            EmbeddedError: if it did not start.
        """
        console = self._start("console", _command("console", "--port", str(self._ports["console"])))
        console.wait_ready(lambda: _answers(self._ports["console"], "/healthz"))

    def check(self) -> None:
        """Check that every process is still running.

        Raises:
            ChildDied: if a process has ended; the message has its name and the end of its log.
        """
        self._processes.check()

    def stop(self) -> None:
        """Stop every process."""
        self._processes.stop()
        self.administration.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start(
        self, name: str, command: list[str], parent_death_signal: signal.Signals = signal.SIGKILL
    ) -> Child:
        child = Child(
            name,
            command,
            log=self.workplace.directory / "log" / f"{name}.log",
            env=self._env_of(name),
            cwd=ROOT,
            parent_death_signal=parent_death_signal,
        )
        return self._processes.start(child)

    def _env_of(self, name: str) -> dict[str, str]:
        """Return a clean environment: of the shell's variables only those to find programs and files, and settings."""
        env = {variable: os.environ[variable] for variable in SAID_BY if variable in os.environ}
        env |= {"LC_ALL": "C.UTF-8", "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}
        needed = (f"DESKBRIDGE_{setting}" for setting in NEEDED_BY[name])
        return env | {variable: self._environment[variable] for variable in needed}

    def _tracker_command(self) -> list[str]:
        self.workplace.tracker_key()
        options = {
            "--port": str(self._ports["tracker"]),
            "--state": str(self.workplace.directory / "tracker.json"),
            "--key-file": str(self.workplace.directory / "redmine-key"),
        }
        command = [sys.executable, "-m", "deploy.sandbox.tracker"]
        return command + [part for option in options.items() for part in option]


def _command(*arguments: str) -> list[str]:
    """Return a `deskbridge` command, run by this interpreter."""
    return [sys.executable, "-m", "producer.cli.main", *arguments]


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except http.client.HTTPException:
        return False
    finally:
        connection.close()
