"""One side of the comparison: its processes, which are frozen while the other side is measured."""

from __future__ import annotations

import http.client
import os
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

from sqlalchemy import create_engine

from deploy.embedded.ports import HOST, free_port
from deploy.embedded.processes import Child, ProcessGroup
from tests.bench.servers import Servers

WORKERS, THREADS = 2, 8
ROOT = Path(__file__).resolve().parents[2]


class Side(ABC):
    """Deskbridge, or its peer.

    Args:
        servers: servers that both sides share; each side has a database of its own in PostgreSQL and in Redis.
    """

    name: str
    redis_number: int

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self.database_url = servers.postgres.create_database(self.name)
        self.redis_url = servers.redis.database_url(self.redis_number)
        self.redis = servers.redis_client(self.redis_number)
        self.engine = create_engine(self.database_url)
        self.port = free_port()
        self.processes = ProcessGroup(stop_timeout=5)
        self.workers: list[Child] = []
        self.producers: list[Child] = []

    @abstractmethod
    def set_up(self) -> None:
        """Create the tables, configure the tracker, map the entity."""

    @abstractmethod
    def start_producer(self) -> None:
        """Start the process that accepts events; return once it answers."""

    @abstractmethod
    def start_worker(self, calls: int | None = None) -> None:
        """Start one process that forwards events.

        Args:
            calls: number of concurrent calls; None uses the default.
        """

    def start_workers(self, calls: int | None = None) -> None:
        """Start the workers that are not yet running."""
        while len(self.workers) < WORKERS:
            self.start_worker(calls)

    def stop_producers(self) -> None:
        """Stop the processes that accept events."""
        self._end(self.producers)

    def stop_workers(self) -> None:
        """Stop the processes that forward events."""
        self._end(self.workers)

    def _end(self, some: list[Child]) -> None:
        self.thaw()
        for child in some:
            child.stop()
        some.clear()

    @abstractmethod
    def accepted(self) -> int:
        """Return how many events are stored and not yet forwarded."""

    @abstractmethod
    def forget(self) -> None:
        """Delete the accepted events."""

    def freeze(self) -> None:
        """Suspend every process; it costs nothing until `thaw`."""
        for child in [*self.producers, *self.workers]:
            child.send_signal(signal.SIGSTOP)

    def freeze_workers(self) -> None:
        """Suspend only the workers, so that events accumulate until they resume."""
        for child in self.workers:
            child.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Resume every process."""
        for child in [*self.producers, *self.workers]:
            child.send_signal(signal.SIGCONT)

    def waiting_messages(self) -> int:
        """Return how many messages are waiting in the queues."""
        return sum(self.redis.llen(key) for key in self._lists())

    def wait_until_notified(self) -> None:
        """Wait until the number of waiting messages no longer changes."""
        before, still = -1, 0
        while still < 3:
            now = self.waiting_messages()
            still = still + 1 if now == before else 0
            before = now
            time.sleep(0.1)

    def drop_messages(self) -> None:
        """Delete the waiting messages, and nothing else."""
        for key in self._lists():
            self.redis.delete(key)

    def stop(self) -> None:
        """Stop every process."""
        self.thaw()
        self.processes.stop()
        self.engine.dispose()
        self.redis.close()

    def log_ends(self) -> str:
        """Return the last lines of every process's log, to diagnose a broken run."""
        return "\n".join(
            f"--- {self.name} {child.name}\n{child.log_tail()}" for child in [*self.producers, *self.workers]
        )

    def _lists(self) -> list[str]:
        return [key for key in self.redis.scan_iter() if self.redis.type(key) == "list"]

    def _start(self, name: str, module: list[str], env: Mapping[str, str]) -> Child:
        given = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        log = self._servers.directory / f"{self.name}-{name}.log"
        child = Child(name, [sys.executable, "-m", *module], log=log, env={**given, **env}, cwd=ROOT)
        return self.processes.start(child)

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=2)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except http.client.HTTPException:
            return False
        finally:
            connection.close()
