"""The servers that both sides share: one PostgreSQL, one Redis, one mock Redmine."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from redis import Redis

from deploy.embedded.postgres import PostgresServer
from deploy.embedded.redis import RedisServer
from deploy.sandbox.tracker.control import StandIn

# The mock accepts status_id on creation, so neither side needs a PUT: both make the same calls.
STAND_IN = ("--new-issue-statuses", "--max-hours-per-day", "0")


@dataclass(frozen=True)
class Servers:
    """The servers of one run."""

    directory: Path
    postgres: PostgresServer
    redis: RedisServer
    stand_in: StandIn

    def redis_client(self, number: int = 0) -> Redis:
        """Return a client of one of Redis' numbered databases."""
        return Redis.from_url(self.redis.database_url(number), decode_responses=True)

    def latency(self, milliseconds: float) -> None:
        """Set the tracker's latency for each answer."""
        self.stand_in.settings(latency_ms=milliseconds)


@contextmanager
def servers() -> Iterator[Servers]:
    """Start the servers with production settings: commits reach the disk, Redis keeps its append-only file."""
    directory = Path(tempfile.mkdtemp(prefix="deskbridge-bench-"))
    directory.chmod(0o755)  # PostgreSQL may run as another account
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        postgres = PostgresServer(directory / "postgres", options={"log_line_prefix": "%d "})
        stack.callback(postgres.destroy)
        redis = RedisServer(directory / "redis")
        stack.callback(redis.destroy)
        stand_in = StandIn(arguments=STAND_IN)
        stack.callback(stand_in.stop)
        yield Servers(directory, postgres.start(), redis.start(), stand_in.start())
