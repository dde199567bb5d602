"""deskbridge as a side: the processes of production, with their default settings."""

from __future__ import annotations

from cryptography.fernet import Fernet
from sqlalchemy import func, select, text

from deploy.embedded.administration import Administration
from deploy.sandbox.samples import load_samples
from shared.store.tables.journal import EventState, JournalEvent
from tests.bench.servers import Servers
from tests.bench.side import Side
from tests.bench.workload import SECRET


class Deskbridge(Side):
    """Producer, workers and beat over a journal and a ledger.

    Args:
        servers: servers that both sides share.
        number: number of the installation if there are several; the peer has the second.
    """

    name = "deskbridge"
    redis_number = 1

    def __init__(self, servers: Servers, number: int = 1) -> None:
        if number > 1:
            self.name, self.redis_number = f"{self.name}{number}", number
        super().__init__(servers)
        self._env = {
            "DESKBRIDGE_DATABASE_URL": self.database_url,
            "DESKBRIDGE_REDIS_URL": self.redis_url,
            "DESKBRIDGE_SECRET_KEYS": Fernet.generate_key().decode(),
            "DESKBRIDGE_WEBHOOK_SECRETS": SECRET,
            "DESKBRIDGE_LOG_FORMAT": "json",
            "DESKBRIDGE_EVENT_LIMIT": "0",
        }

    def set_up(self) -> None:
        """Migrate, read the tracker's metadata, then configure and map projects as for the samples."""
        administration = Administration(self._env)
        try:
            administration.migrate()
            stand_in = self._servers.stand_in
            administration.set_up(stand_in.base_url, stand_in.api_key, load_samples().installation)
        finally:
            administration.close()

    def start_producer(self) -> None:
        """Start the producer."""
        command = ["producer.cli.main", "producer", "--port", str(self.port)]
        env = {name: value for name, value in self._env.items() if name != "DESKBRIDGE_SECRET_KEYS"}
        child = self._start("producer", command, env)
        child.wait_ready(self._answers)
        self.producers.append(child)

    def start_worker(self, calls: int | None = None) -> None:
        """Start a worker."""
        command = ["worker", "worker", *(["--concurrency", str(calls)] if calls else [])]
        self.workers.append(self._start(f"worker-{len(self.workers)}", command, self._env))

    def start_workers(self, calls: int | None = None) -> None:
        """Start the workers and beat."""
        super().start_workers(calls)
        self.workers.append(self._start("beat", ["worker", "beat"], self._env))

    def accepted(self) -> int:
        """Return how many events are pending in the journal."""
        with self.engine.connect() as connection:
            statement = select(func.count(JournalEvent.id)).where(JournalEvent.state == EventState.PENDING)
            return connection.scalar(statement) or 0

    def forget(self) -> None:
        """Empty the journal and the queue."""
        with self.engine.begin() as connection:
            connection.execute(text(f"TRUNCATE {JournalEvent.__tablename__}"))
        self.drop_messages()
