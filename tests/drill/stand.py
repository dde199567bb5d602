"""What a drill runs on: real servers, the mock Redmine, and the supervised processes of an installation."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from deploy.embedded.child import Child
from deploy.embedded.ports import HOST
from deploy.embedded.postgres import PostgresServer
from deploy.embedded.redis import RedisServer
from deploy.sandbox.tracker.control import StandIn
from shared.store.configuration.mappings import MappingKind
from tests.drill import documents
from tests.drill.day import PUBLIC_ENTITY
from tests.drill.people import EXTRA_USERS, ON_TRACKER
from tests.drill.plan import WORKERS
from tests.drill.supervisor import Supervised, Supervisor
from tests.support.fleet import Fleet
from tests.support.glpi_api import CLIENT, CLIENT_SECRET, PASSWORD, USER, glpi_api

THREADS = 4
SKEW_S = 60
PUBLIC_PROJECT = 2
SKEWED = Path(__file__).parent / "skewed"
SETTINGS: dict[str, Any] = {
    "SWEEP_INTERVAL": 1,
    "CLAIM_LEASE": 4,
    "LOCK_LEASE": 5,
    "SETTLING_TIME": 6,  # must be longer than a call may take
    "METADATA_INTERVAL": 20,
}

GLPI_ACCESS = {
    "GLPI_API_CLIENT_ID": CLIENT,
    "GLPI_API_CLIENT_SECRET": CLIENT_SECRET,
    "GLPI_API_USER": USER,
    "GLPI_API_PASSWORD": PASSWORD,
}


class Stand:
    """Everything that a drill controls; a context manager that leaves nothing running.

    Args:
        seed: determines in which direction one worker's clock is off.
        redmine: the Redmine version that the tracker simulates.
        files: content of each document in the help desk.
        keep: where to keep every process's log; None deletes the logs.
    """

    def __init__(self, seed: int, redmine: str, files: Mapping[int, bytes], keep: Path | None = None) -> None:
        self._files = files
        self._keep = keep
        self._stack = ExitStack()
        self._seed = seed
        self._redmine = redmine
        self.supervisor = Supervisor()

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _start(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="deskbridge-drill-"))
        self.directory.chmod(0o755)  # PostgreSQL may run as another account
        self._stack.callback(shutil.rmtree, self.directory, ignore_errors=True)
        self.postgres = PostgresServer(
            self.directory / "postgres",
            fsync=False,
            options={"max_connections": "200"},
            password=secrets.token_hex(16),
        )
        self._stack.callback(self.postgres.destroy)
        self.redis = RedisServer(self.directory / "redis")
        self._stack.callback(self.redis.destroy)
        limits = ["--max-hours-per-day", "0", "--extra-users", str(EXTRA_USERS)]
        self.stand_in = StandIn(arguments=["--redmine", self._redmine, *limits])
        self._stack.callback(self.stand_in.stop)
        self.postgres.start()
        self.redis.start()
        self.stand_in.start()
        self.glpi = self._stack.enter_context(glpi_api())
        self.glpi.documents |= self._files
        self._start_processes()

    def _start_processes(self) -> None:
        logs = self.directory / "logs"
        logs.mkdir()
        if self._keep is not None:
            self._stack.callback(shutil.copytree, logs, self._keep, dirs_exist_ok=True)
        database_url = self.postgres.create_database("drill")
        settings = {**SETTINGS, **GLPI_ACCESS, "GLPI_API_URL": self.glpi.url}
        self.fleet = Fleet(logs, database_url, self.redis.url, self.stand_in, **settings)
        self._stack.callback(self.fleet.stop)
        self.fleet.bridge.link(MappingKind.ENTITY, PUBLIC_ENTITY, PUBLIC_PROJECT)
        self.fleet.bridge.configure(sync_followups="all", sync_solutions="on", **documents.SETTINGS)
        with self.fleet.bridge.store.transaction() as tx:
            tx.people.replace_cache(ON_TRACKER)
        self._stack.callback(self.supervisor.stop)
        producer = self.supervisor.add(
            self.fleet.child("producer", "producer", "--port", str(self.fleet.port))
        )
        self.supervisor.add(self.fleet.child("beat", "beat"))
        for number in range(1, WORKERS + 1):
            self.supervisor.add(self._worker(number))
        producer.child.wait_ready(self.fleet.is_ready)
        self.supervisor.start()

    def _worker(self, number: int) -> Child:
        """Return a worker process; the clock of the last one is a minute fast or slow."""
        skew = {}
        if number == WORKERS:
            offset = SKEW_S if self._seed % 2 else -SKEW_S
            skew = {"DRILL_CLOCK_OFFSET": str(offset), "PYTHONPATH": str(SKEWED)}
        return self.fleet.child(f"worker-{number}", "worker", "--concurrency", str(THREADS), **skew)

    def process(self, name: str) -> Supervised:
        """Return a supervised process by name."""
        return next(member for member in self.supervisor.members if member.name == name)

    @property
    def events_url(self) -> str:
        """The producer's URL for events."""
        return f"http://{HOST}:{self.fleet.port}/events"
