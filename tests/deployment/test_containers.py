"""The image and compose.yaml, on a real Docker engine: up, an event, three workers, one killed, down."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from deploy.embedded.ports import HOST, free_port
from deploy.sandbox.tracker.seed import DEFAULT_KEY
from tests.deployment.conftest import HERE, ROOT, run
from tests.support.documents import documented, example_event, instead
from tests.support.events import SUPPORT_ENTITY, task, task_event, ticket
from tests.support.waiting import until

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(900)]

CONTAINERS = ROOT / "deploy" / "container"
IMAGE = "deskbridge:test"
BASE = "deskbridge-base:local"
STANDIN = "deskbridge-standin:local"
OURS = ("producer", "console", "worker", "beat")
MOST_MB = 140
TICKETS = 40


class Engine:
    """A Docker engine, and Compose with our stack on it.

    Args:
        environment: how it is reached, and what compose.yaml is given.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        files = ("-f", str(CONTAINERS / "compose.yaml"), "-f", str(HERE / "compose.test.yaml"))
        plugin = Path(environment["TOOLS"]) / "usr/libexec/docker/cli-plugins/docker-compose"
        self._compose = [str(plugin), *files]

    def docker(self, *arguments: str) -> str:
        """Run docker; return what it printed."""
        return self._run(["docker", *arguments])

    def compose(self, *arguments: str, given: str = "") -> str:
        """Run Compose; return what it printed."""
        return self._run([*self._compose, *arguments], given)

    def deskbridge(self, *arguments: str, given: str = "", within: str = "console") -> str:
        """Run a command of deskbridge in one of its containers."""
        return self.compose("exec", "-T", within, "deskbridge", *arguments, given=given)

    def types(self, commands: str) -> str:
        """Type a page's commands in a shell, where `docker compose` is the one with our stack on it."""
        compose = " ".join(map(shlex.quote, self._compose))
        docker = shlex.quote(str(shutil.which("docker", path=self.environment["PATH"])))
        ours = f"""docker() {{
            if [ "$1" != compose ]; then {docker} "$@"; return; fi
            shift; if [ "$1" = -f ]; then shift 2; fi
            {compose} "$@"
        }}"""
        return self._run(["/bin/bash", "-euc", f"{ours}\ncd {shlex.quote(str(ROOT))}\n{commands}"])

    def containers(self, service: str) -> list[dict[str, Any]]:
        """Return what the engine knows of a service's containers."""
        ids = self.compose("ps", "-a", "-q", service).split()
        found: list[dict[str, Any]] = json.loads(self.docker("inspect", *ids)) if ids else []
        return found

    def _run(self, command: list[str], given: str = "") -> str:
        return run(self.environment, *command, given=given)


@pytest.fixture(scope="module")
def engine(docker: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """An engine; skips where none can be had."""
    given = {
        **docker,
        "ROOT": str(ROOT),
        "SECRETS": str(tmp_path_factory.mktemp("compose") / "secrets"),
        "TRACKER_PORT": str(free_port()),
        "PRODUCER_PORT": f"{HOST}:{free_port()}",
        "CONSOLE_PORT": f"{HOST}:{free_port()}",
        "DESKBRIDGE_IMAGE": IMAGE,
        "POSTGRES_IMAGE": STANDIN,
        "REDIS_IMAGE": STANDIN,
    }
    return Engine(given)


@pytest.fixture(scope="module")
def stack(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The whole stack, its image built of this tree, up and configured as docs/containers.md says."""
    key = tmp_path_factory.mktemp("key") / "key.txt"
    key.write_text(DEFAULT_KEY, encoding="utf-8")
    here = f"make image BASE={BASE} IMAGE={IMAGE} BUILD_FLAGS='-q --network=host'"
    try:
        engine.types(
            instead(
                documented("containers.md#start"),
                ("make image", here),
                ("deploy/container/make-secrets", 'deploy/container/make-secrets "$SECRETS"'),
                ("up -d --wait", "up -d --wait --pull never"),
            )
        )
        engine.types(
            instead(
                documented("containers.md#connect-the-tracker"),
                ("https://redmine.example.org", "http://tracker:3000"),
                ("key.txt", str(key)),
                ("entity 3 12", f"entity {SUPPORT_ENTITY} 1"),
            )
        )
        yield engine
    finally:
        engine.compose("down", "-v", "--timeout", "5")


def send(stack: Engine, events: list[dict[str, Any]]) -> None:
    lines = "\n".join(json.dumps(event) for event in events)
    stack.deskbridge("send", "-", "--url", "http://127.0.0.1:8080/events", given=lines, within="producer")


def logged(stack: Engine) -> int:
    """Return how many time entries the tracker has."""
    url = f"http://{HOST}:{stack.environment['TRACKER_PORT']}/time_entries.json?limit=1"
    found: int = requests.get(url, headers={"X-Redmine-API-Key": DEFAULT_KEY}, timeout=10).json()[
        "total_count"
    ]
    return found


def waiting(stack: Engine) -> list[Any]:
    found: list[Any] = json.loads(stack.deskbridge("events", "--state", "pending", "--json"))
    return found


def test_the_image_is_small_and_holds_nothing_to_build_with(stack: Engine) -> None:
    engine = stack
    size = {
        image: int(engine.docker("image", "inspect", "-f", "{{.Size}}", image)) for image in (IMAGE, BASE)
    }
    assert (size[IMAGE] - size[BASE]) / 1e6 < MOST_MB
    (image,) = json.loads(engine.docker("image", "inspect", IMAGE))
    assert image["Config"]["User"] == "10001:10001"
    version = image["Config"]["Labels"]["org.opencontainers.image.version"]
    assert engine.docker("run", "--rm", IMAGE, "--version").split() == ["deskbridge", version]
    for tool in ("pip", "setuptools", "wheel"):
        command = ["run", "--rm", "--entrypoint", "/opt/deskbridge/bin/python", IMAGE, "-c"]
        assert (
            engine.docker(*command, f"import importlib.util as u; print(u.find_spec('{tool}'))") == "None\n"
        )


def test_the_profile_with_monitoring_is_well_formed(engine: Engine) -> None:
    services = engine.compose("--profile", "observe", "config", "--services").split()
    assert {"prometheus", "alertmanager", "grafana"} <= set(services)
    for mounted in re.findall(
        r"\.\./monitoring/[\w./]+", (CONTAINERS / "compose.yaml").read_text(encoding="utf-8")
    ):
        assert (CONTAINERS / mounted).exists(), mounted


def test_nothing_of_a_secret_is_in_the_file_of_the_stack() -> None:
    for service in yaml.safe_load((CONTAINERS / "compose.yaml").read_text(encoding="utf-8"))[
        "services"
    ].values():
        for name, value in (service.get("environment") or {}).items():
            if any(word in name for word in ("PASSWORD", "SECRET", "KEYS", "DATABASE_URL")):
                assert name.endswith("_FILE"), name
                assert str(value).startswith("/run/secrets/"), name


@pytest.mark.parametrize("service", OURS)
def test_a_container_may_do_nothing_but_its_work(stack: Engine, service: str) -> None:
    (one,) = stack.containers(service)
    assert one["State"]["Health"]["Status"] == "healthy"
    assert one["HostConfig"]["ReadonlyRootfs"]
    assert one["HostConfig"]["CapDrop"] == ["ALL"]
    seen = stack.compose(
        "exec", "-T", service, "sh", "-c", "id -u; grep -E 'CapEff|NoNewPrivs' /proc/1/status"
    )
    assert seen.split() == ["10001", "CapEff:", "0000000000000000", "NoNewPrivs:", "1"]
    refused = stack.compose(
        "exec", "-T", service, "sh", "-c", "touch /opt/deskbridge/x 2>/dev/null || echo refused"
    )
    assert refused == "refused\n"
    assert "DESKBRIDGE_SECRET_KEYS=" not in json.dumps(one["Config"]["Env"])


def test_events_go_through_one_worker_three_workers_and_a_kill_and_none_restarts(
    stack: Engine, tmp_path: Path
) -> None:
    event = tmp_path / "event.json"
    event.write_text(example_event(), encoding="utf-8")
    stack.types(instead(documented("containers.md#the-first-event"), ("event.json", str(event))))
    until(lambda: logged(stack) == 1, lambda: stack.compose("logs", "--tail", "20", "worker"), 30)
    stack.compose("up", "-d", "--wait", "--no-recreate", "--scale", "worker=3", "worker")
    events = [
        task_event(of_ticket=ticket(5000 + number), of_task=task(9000 + number)) for number in range(TICKETS)
    ]
    send(stack, events)
    killed = stack.containers("worker")[1]["Id"]
    stack.docker("kill", killed)
    stack.compose("up", "-d", "--no-recreate", "--scale", "worker=1", "worker")
    until(lambda: logged(stack) >= TICKETS + 1, lambda: "not all were logged", 120)
    send(stack, events)
    until(lambda: waiting(stack) == [], lambda: "something still waits", 60)
    assert logged(stack) == TICKETS + 1, "each once"
    restarts = {name: [one["RestartCount"] for one in stack.containers(name)] for name in OURS}
    assert all(count == 0 for counts in restarts.values() for count in counts), restarts


def test_everything_ends_when_it_is_told_to_within_its_time(stack: Engine) -> None:
    started = time.monotonic()
    stack.compose("stop", *OURS)
    assert time.monotonic() - started < 40
    ended = {name: [one["State"]["ExitCode"] for one in stack.containers(name)] for name in OURS}
    assert ended == {name: [0] for name in OURS}
