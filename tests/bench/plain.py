"""The peer as a side: one endpoint, and Celery workers with Celery's defaults."""

from __future__ import annotations

import json

from sqlalchemy.orm import Session

from deploy.sandbox.samples import load_samples
from deploy.sandbox.tracker.seed import PEOPLE
from tests.bench.peer.models import Base, EntityMappingRow, Person, ProjectMappingRow
from tests.bench.servers import Servers
from tests.bench.side import THREADS, Side
from tests.bench.workload import SECRET


class Plain(Side):
    """A plain Celery task (see `tests.bench.peer`)."""

    name = "plain"
    redis_number = 2

    def __init__(self, servers: Servers) -> None:
        super().__init__(servers)
        config = {
            **{
                name: value
                for name, value in load_samples().installation.config.items()
                if name.startswith("default_") or name == "status_map"
            },
            "database_url": self.database_url,
            "broker_url": self.redis_url,
            "webhook_secret": SECRET,
            "tracker_url": servers.stand_in.base_url,
            "api_key": servers.stand_in.api_key,
        }
        self._env = {"PLAIN_CONFIG": json.dumps(config)}

    def set_up(self) -> None:
        """Create the tables, with the same mappings and people as deskbridge has."""
        Base.metadata.create_all(self.engine)
        with Session(self.engine) as session, session.begin():
            for link in load_samples().installation.links:
                made = ProjectMappingRow if link["kind"] == "project" else EntityMappingRow
                session.add(made(**_columns(link)))
            session.add_all(
                Person(tracker_user_id=number, login=login, email=f"{login}@example.test")
                for number, login, *_ in PEOPLE
            )

    def start_producer(self) -> None:
        """Start the endpoint."""
        child = self._start("producer", ["tests.bench.peer.api", str(self.port)], self._env)
        child.wait_ready(self._answers)
        self.producers.append(child)

    def start_worker(self, calls: int | None = None) -> None:
        """Start a worker."""
        number = len(self.workers)
        options = ["--pool", "threads", "--concurrency", str(calls or THREADS), "--loglevel", "INFO"]
        command = ["celery", "-A", "tests.bench.peer.tasks", "worker", "-n", f"plain{number}@%h", *options]
        self.workers.append(self._start(f"worker-{number}", command, self._env))

    def accepted(self) -> int:
        """Return how many messages are waiting."""
        return self.waiting_messages()

    def forget(self) -> None:
        """Empty the queue."""
        self.drop_messages()


def _columns(link: dict[str, object]) -> dict[str, object]:
    key = "helpdesk_project_id" if link["kind"] == "project" else "entity_id"
    return {
        key: link["helpdesk_id"],
        "tracker_project_id": link["tracker_project_id"],
        "category_id": link["default_category_id"],
    }
