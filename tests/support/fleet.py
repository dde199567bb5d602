"""A whole deskbridge as processes: producer, workers and beat, on a real PostgreSQL and a real Redis."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import requests
from cryptography.fernet import Fernet
from sqlalchemy import func, select
from standardwebhooks import Webhook

from deploy.embedded.ports import HOST, free_port
from deploy.embedded.processes import Child, ProcessGroup
from deploy.sandbox.tracker.control import StandIn
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.store.ledger.transitions import IN_FLIGHT
from shared.store.tables.journal import (
    EventState,
    JournalEvent,
    TicketState,
    TraceStep,
)
from shared.store.tables.ledger import DocumentLink, LedgerState, NoteLink, TaskTimeLink, TicketIssueLink
from tests.support.bridge import Bridge
from tests.support.fork_server import ForkServer, ReadyMade, can_be_forked

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ROOT = Path(__file__).resolve().parents[2]
READY_WITHIN_S = 90
"""A process imports about fifty packages, perhaps on a busy machine."""


class Fleet:
    """Starts and controls the processes of one installation.

    Args:
        directory: directory for logs.
        database_url: address of an empty database.
        redis_url: address of an empty Redis.
        stand_in: the tracker.
        python: interpreter of the processes' venv, if it is another one.
        fork_server: forks the processes, if they need not start from scratch.
        settings: DESKBRIDGE_ variables that differ from the tests' defaults, without the prefix.

    Attributes:
        directory: directory of every process's log.
    """

    def __init__(
        self,
        directory: Path,
        database_url: str,
        redis_url: str,
        stand_in: StandIn,
        *,
        python: Path | None = None,
        fork_server: ForkServer | None = None,
        **settings: Any,
    ) -> None:
        self.directory = directory
        self._program = [str(python or sys.executable), "-m", "producer.cli.main"]
        self._cwd = directory if python else ROOT
        self._fork_server = fork_server
        self.stand_in = stand_in
        self.bridge = Bridge(database_url, redis_url, stand_in.base_url, stand_in.api_key)
        key = self.bridge.settings.secret_keys[0].get_secret_value()
        self.port = free_port()
        given = {
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "SECRET_KEYS": key,
            "WEBHOOK_SECRETS": SECRET,
            "SWEEP_INTERVAL": 1,
            "CLAIM_LEASE": 3,
            "LOCK_LEASE": 4,
            "SETTLING_TIME": 1,
            "LOG_FORMAT": "json",
            "EVENT_LIMIT": 0,  # the whole load of a test comes from one secret
            **settings,
        }
        self._env = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
            **{f"DESKBRIDGE_{name}": str(value) for name, value in given.items()},
        }
        self.processes = ProcessGroup(stop_timeout=5)
        self.workers: list[Child] = []
        self._started = 0
        self._http = requests.Session()
        self._webhook = Webhook(SECRET)

    def start(self, *, workers: int = 0, threads: int = 4) -> Fleet:
        """Start a producer, a beat and the workers; return once the producer answers."""
        producer = self.child("producer", "producer", "--port", str(self.port))
        self.processes.start(producer, self.is_ready, READY_WITHIN_S)
        self.add_beat("beat")
        for _ in range(workers):
            self.add_worker(threads)
        return self

    def add_beat(self, name: str) -> Child:
        """Start a beat process, even if there is one already."""
        return self.processes.start(self.child(name, "beat"))

    def add_worker(self, threads: int, **environment: str) -> Child:
        """Start another worker, with additional environment variables."""
        self._started += 1
        child = self.child(f"worker-{self._started}", "worker", "--concurrency", str(threads), **environment)
        self.workers.append(self.processes.start(child))
        return child

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, in the fleet's environment with additional variables."""
        env = {**self._env, **environment}
        if self._fork_server and can_be_forked(env):
            return self._fork_server.run(command, env, self._cwd, READY_WITHIN_S)
        return subprocess.run(
            [*self._program, *command],
            env=env,
            cwd=self._cwd,
            capture_output=True,
            text=True,
            timeout=READY_WITHIN_S,
            check=False,
        )

    def send(
        self, deliveries: Iterable[tuple[str, Mapping[str, Any]]], *, batch: int = 10, **headers: str
    ) -> int:
        """Send deliveries as a help desk does: signed, and repeated until accepted; return their number."""
        waiting = list(deliveries)
        for start in range(0, len(waiting), batch):
            events = [{**event, "delivery_id": name} for name, event in waiting[start : start + batch]]
            self._post(json.dumps(events), f"batch-{start}", headers)
        return len(waiting)

    def _post(self, body: str, webhook_id: str, more: Mapping[str, str]) -> None:
        deadline = time.monotonic() + 60
        while True:
            now = datetime.now(UTC)
            headers = {
                "content-type": "application/json",
                "webhook-id": webhook_id,
                "webhook-timestamp": str(int(now.timestamp())),
                "webhook-signature": self._webhook.sign(webhook_id, now, body),
                **more,
            }
            try:
                answer = self._http.post(
                    f"http://{HOST}:{self.port}/events", data=body.encode(), headers=headers, timeout=30
                )
                if answer.status_code == 202:
                    return
                assert answer.status_code == 503, answer.text
            except requests.ConnectionError:
                pass
            assert time.monotonic() < deadline, "the producer did not accept an event for a minute"
            time.sleep(0.2)

    def wait_until_synced(self, timeout: float) -> float:
        """Wait until nothing is pending, claimed, in doubt or due; return the seconds that it took."""
        started = time.monotonic()
        while left := self.left():
            assert time.monotonic() - started < timeout, f"not synced after {timeout} s: {left}"
            time.sleep(0.1)
        return time.monotonic() - started

    def left(self) -> dict[str, int]:
        """Return the amount of remaining work by kind; empty if there is none.

        Documents that GLPI does not have are not counted: their events wait for a day.
        """
        is_awaited = JournalEvent.code.is_distinct_from(Reason.DOCUMENT_MISSING)
        questions = {
            "pending": select(func.count(JournalEvent.id)).where(
                JournalEvent.state == EventState.PENDING, is_awaited
            ),
            "issues": select(func.count()).where(TicketIssueLink.state.in_(IN_FLIGHT)),
            "times": select(func.count()).where(TaskTimeLink.state.in_(IN_FLIGHT)),
            "notes": select(func.count()).where(NoteLink.state.in_(IN_FLIGHT)),
            "documents": select(func.count()).where(DocumentLink.state.in_(IN_FLIGHT)),
            "status": select(func.count())
            .select_from(TicketState)
            .join(TicketIssueLink, TicketIssueLink.ticket_id == TicketState.ticket_id)
            .where(TicketState.status_due, TicketIssueLink.state == LedgerState.LINKED),
        }
        with self.bridge.store.database.transaction() as session:
            counts = {name: session.scalar(question) or 0 for name, question in questions.items()}
        return {name: count for name, count in counts.items() if count}

    def settled(self) -> dict[str, int]:
        """Return how many creations in doubt were resolved: found in the tracker, or found to be absent."""
        codes = {"found": What.CREATION_FOUND, "absent": What.CREATION_ABSENT}
        with self.bridge.store.database.transaction() as session:
            counts = {
                what: session.scalar(select(func.count(TraceStep.id)).where(TraceStep.code == code)) or 0
                for what, code in codes.items()
            }
        return {what: count for what, count in counts.items() if count}

    def wait_until_busy(self, creations: int = 3) -> None:
        """Wait until the workers are busy: the tracker has at least this many new issues."""
        deadline = time.monotonic() + READY_WITHIN_S
        seeded = 5
        while len(self.stand_in.state()["issues"]) < seeded + creations:
            assert time.monotonic() < deadline, f"the workers did nothing for {READY_WITHIN_S} s"
            time.sleep(0.05)

    def states(self) -> dict[str, int]:
        """Return how many events are in each state."""
        with self.bridge.store.database.transaction() as session:
            rows = session.execute(select(JournalEvent.state, func.count()).group_by(JournalEvent.state))
            return dict(rows.all())

    def kill_workers(self) -> None:
        """Kill every worker."""
        for worker in self.workers:
            worker.kill()
        self.workers.clear()

    def stop_processes(self) -> None:
        """Stop every process; `start` starts them again."""
        self.processes.stop()
        self.workers.clear()

    def stop(self) -> None:
        """Stop everything."""
        self.processes.stop()
        self._http.close()
        self.bridge.close()

    def logs(self) -> str:
        """Return the end of every process's log, for a failed test."""
        files = sorted(self.directory.glob("*.log"))
        return "\n".join(f"--- {file.name}\n{file.read_text()[-2000:]}" for file in files)

    def child(self, name: str, *command: str, **environment: str) -> Child:
        """Return a process of the installation, not started yet.

        Args:
            name: name in messages and of its log.
            command: command of `deskbridge`, with its options.
            environment: additional environment variables.
        """
        log, env = self.directory / f"{name}.log", {**self._env, **environment}
        if self._fork_server and can_be_forked(env):
            return ReadyMade(self._fork_server, name, command, log=log, env=env, cwd=self._cwd)
        return Child(name, [*self._program, *command], log=log, env=env, cwd=self._cwd)

    def is_ready(self) -> bool:
        """Return whether the producer answers."""
        try:
            return requests.get(f"http://{HOST}:{self.port}/healthz", timeout=1).status_code == 200
        except requests.RequestException:  # a timeout, too
            return False


def new_key() -> str:
    """Return a Fernet key."""
    return Fernet.generate_key().decode()
