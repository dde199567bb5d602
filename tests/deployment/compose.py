"""compose.yaml on a Docker engine, and a help desk that sends events to it."""

from __future__ import annotations

import json
import shlex
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import requests
from standardwebhooks import Webhook

from deploy.embedded.ports import HOST, free_port
from deploy.sandbox.tracker.seed import DEFAULT_KEY
from tests.deployment.conftest import HERE, ROOT, run
from tests.support.events import task, task_event, ticket

CONTAINERS = ROOT / "deploy" / "container"
OURS = ("producer", "console", "worker", "beat")
BETWEEN_S = 0.1


class Engine:
    """A Docker engine, and Compose with our stack on it.

    Args:
        environment: environment variables to reach it, and those that compose.yaml uses.
        project: Compose's name for the stack.
    """

    def __init__(self, environment: dict[str, str], project: str) -> None:
        self.environment = environment
        files = ("-p", project, "-f", str(CONTAINERS / "compose.yaml"), "-f", str(HERE / "compose.test.yaml"))
        plugin = Path(environment["TOOLS"]) / "usr/libexec/docker/cli-plugins/docker-compose"
        self._compose = [str(plugin), *files]

    def docker(self, *arguments: str) -> str:
        """Run docker; return its output."""
        return self._run(["docker", *arguments])

    def compose(self, *arguments: str, given: str = "") -> str:
        """Run Compose; return its output."""
        return self._run([*self._compose, *arguments], given)

    def deskbridge(self, *arguments: str, given: str = "", within: str = "console") -> str:
        """Run a deskbridge command in one of its containers; return its output."""
        return self.compose("exec", "-T", within, "deskbridge", *arguments, given=given)

    def types(self, commands: str) -> str:
        """Run a documentation page's commands in a shell in which `docker compose` refers to our stack."""
        compose = " ".join(map(shlex.quote, self._compose))
        docker = shlex.quote(str(shutil.which("docker", path=self.environment["PATH"])))
        ours = f"""docker() {{
            if [ "$1" != compose ]; then {docker} "$@"; return; fi
            shift; if [ "$1" = -f ]; then shift 2; fi
            {compose} "$@"
        }}"""
        return self._run(["/bin/bash", "-euc", f"{ours}\ncd {shlex.quote(str(ROOT))}\n{commands}"])

    def containers(self, service: str) -> list[dict[str, Any]]:
        """Return the engine's data about a service's containers."""
        ids = self.compose("--profile", "observe", "ps", "-a", "-q", service).split()
        found: list[dict[str, Any]] = json.loads(self.docker("inspect", *ids)) if ids else []
        return found

    def _run(self, command: list[str], given: str = "") -> str:
        return run(self.environment, *command, given=given)


class Helpdesk:
    """Sends a stack events of ever new tickets, each with one ticket task, and repeats each until it is accepted.

    Args:
        stack: stack whose producer receives them.
        first: id of the first ticket.
    """

    def __init__(self, stack: Engine, first: int) -> None:
        self._url = f"http://{stack.environment['PRODUCER_PORT']}/events"
        secret = (Path(stack.environment["SECRETS"]) / "webhook-secrets").read_text(encoding="utf-8")
        self._webhook = Webhook(secret.strip())
        self._numbers = count(first)
        self._ended = threading.Event()
        self.sent: list[int] = []
        self.repeats = 0
        self.fault: Exception | None = None

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Send events until the block ends."""
        thread = threading.Thread(target=self._work)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()
        assert self.fault is None, self.fault

    def _work(self) -> None:
        try:
            while not self._ended.wait(BETWEEN_S):
                number = next(self._numbers)
                self._send(number)
                self.sent.append(number)
        except Exception as fault:  # noqa: BLE001 (reported by the thread that waits for this one)
            self.fault = fault

    def _send(self, number: int) -> None:
        event = task_event(of_ticket=ticket(number), of_task=task(number), delivery_id=f"delivery-{number}")
        body = json.dumps(event)
        deadline = time.monotonic() + 120
        while True:
            now = datetime.now(UTC)
            headers = {
                "content-type": "application/json",
                "webhook-id": f"delivery-{number}",
                "webhook-timestamp": str(int(now.timestamp())),
                "webhook-signature": self._webhook.sign(f"delivery-{number}", now, body),
            }
            try:
                answer = requests.post(self._url, data=body.encode(), headers=headers, timeout=10)
                if answer.status_code == 202:
                    return
                assert answer.status_code == 503, answer.text
            except requests.RequestException:
                pass
            self.repeats += 1
            assert time.monotonic() < deadline, "no producer accepted an event for two minutes"
            time.sleep(BETWEEN_S)


def surroundings(docker: dict[str, str], standin: str, directory: Path) -> dict[str, str]:
    """Return the variables for compose.yaml: free ports, secrets in a directory, images without a registry."""
    return {
        **docker,
        "ROOT": str(ROOT),
        "SECRETS": str(directory / "secrets"),
        "MONITORING": str(directory),
        "TRACKER_PORT": str(free_port()),
        **{
            f"{name}_PORT": f"{HOST}:{free_port()}"
            for name in ("PRODUCER", "CONSOLE", "PROMETHEUS", "GRAFANA")
        },
        "POSTGRES_IMAGE": standin,
        "REDIS_IMAGE": standin,
    }


def _ask_tracker(stack: Engine, kind: str, limit: int, offset: int) -> dict[str, Any]:
    url = f"http://{HOST}:{stack.environment['TRACKER_PORT']}/{kind}.json"
    asked: dict[str, str | int] = {"limit": limit, "offset": offset, "status_id": "*"}
    answer = requests.get(url, params=asked, headers={"X-Redmine-API-Key": DEFAULT_KEY}, timeout=10)
    told: dict[str, Any] = answer.json()
    return told


def tracked(stack: Engine, kind: str) -> list[dict[str, Any]]:
    """Return the tracker's objects of a kind: time_entries or issues."""
    found: list[dict[str, Any]] = []
    while True:
        answer = _ask_tracker(stack, kind, 100, len(found))
        found += answer[kind]
        if len(found) >= answer["total_count"] or not answer[kind]:
            return found


def logged(stack: Engine) -> int:
    """Return the number of time entries in the tracker."""
    entries: int = _ask_tracker(stack, "time_entries", 1, 0)["total_count"]
    return entries


def issues_of(entries: list[dict[str, Any]]) -> Counter[int]:
    """Return the number of time entries of each issue."""
    return Counter(one["issue"]["id"] for one in entries)


def restarts(stack: Engine) -> dict[str, list[int]]:
    """Return how often the engine restarted each of our containers."""
    return {name: [one["RestartCount"] for one in stack.containers(name)] for name in OURS}


def waiting(stack: Engine) -> list[Any]:
    """Return the pending events."""
    found: list[Any] = json.loads(stack.deskbridge("event", "list", "--state", "pending", "--json"))
    return found
