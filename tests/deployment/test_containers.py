"""The image and compose.yaml on a real Docker engine: start, events, three workers, a kill, monitoring, stop."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.sandbox.tracker.seed import DEFAULT_KEY
from tests.deployment.compose import CONTAINERS, OURS, Engine, logged, restarts, surroundings, waiting
from tests.deployment.conftest import IMAGE
from tests.deployment.prometheus import MONITORING, Asked, expressions, hasten
from tests.support.documents import documented, instead
from tests.support.events import SUPPORT_ENTITY, task, task_event, ticket
from tests.support.waiting import until

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(900)]

MOST_MB = 155
TICKETS = 40


@pytest.fixture(scope="module")
def engine(docker: dict[str, str], standin: str, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """An engine; skips if none is available."""
    given = surroundings(docker, standin, tmp_path_factory.mktemp("compose"))
    return Engine({**given, "DESKBRIDGE_IMAGE": IMAGE}, "deskbridge")


@pytest.fixture(scope="module")
def stack(
    engine: Engine, image: str, base: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """The whole stack with the image of this tree, running and configured as docs/how-to/install.md describes."""
    key = tmp_path_factory.mktemp("key") / "key.txt"
    key.write_text(DEFAULT_KEY, encoding="utf-8")
    assert image == IMAGE, "it is built already, so that Docker has every layer of it"
    here = f"make -o wheel image BASE={base} IMAGE={image} BUILD_FLAGS='-q --network=host'"
    try:
        engine.types(
            instead(
                documented("how-to/install.md#start"),
                ("make image", here),
                ("deploy/container/make-secrets", 'deploy/container/make-secrets "$SECRETS"'),
                ("up -d --wait", "up -d --wait --pull never"),
            )
        )
        engine.types(
            instead(
                documented("how-to/install.md#commands")
                + documented("how-to/connect-redmine.md#address-and-key")
                + documented("how-to/connect-redmine.md#defaults")
                + documented("how-to/connect-redmine.md#map-entities-and-projects"),
                ("https://redmine.example.org", "http://tracker:3000"),
                ("< key.txt", f"< {key}"),
                ("entity 3 12", f"entity {SUPPORT_ENTITY} 1"),
            )
        )
        yield engine
    finally:
        engine.compose("--profile", "observe", "down", "-v", "--timeout", "5")


def send(stack: Engine, events: list[dict[str, Any]]) -> None:
    lines = "\n".join(json.dumps(event) for event in events)
    stack.deskbridge(
        "event", "send", "-", "--url", "http://127.0.0.1:8080/events", given=lines, within="producer"
    )


def test_the_image_is_small_and_holds_nothing_to_build_with(stack: Engine, base: str) -> None:
    engine = stack
    size = {
        image: int(engine.docker("image", "inspect", "-f", "{{.Size}}", image)) for image in (IMAGE, base)
    }
    assert (size[IMAGE] - size[base]) / 1e6 < MOST_MB
    (image,) = json.loads(engine.docker("image", "inspect", IMAGE))
    assert image["Config"]["User"] == "10001:10001"
    labels = {name.rpartition(".")[2]: text for name, text in image["Config"]["Labels"].items()}
    assert {"title", "description", "licenses", "version", "revision"} <= set(labels)
    assert "unknown" not in labels.values()
    version = labels["version"]
    assert engine.docker("run", "--rm", "--network=none", IMAGE, "--version").split() == [
        "deskbridge",
        version,
    ]
    for tool in ("pip", "setuptools", "wheel"):
        command = ["run", "--rm", "--network=none", "--entrypoint", "/opt/deskbridge/bin/python", IMAGE, "-c"]
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
            if any(word in name for word in ("PASSWORD", "SECRET", "KEYS", "DATABASE_URL", "REDIS_URL")):
                assert name.endswith("_FILE"), name
                assert str(value).startswith("/run/secrets/"), name


@pytest.mark.parametrize("service", ["worker", "beat"])
def test_one_whose_heartbeat_is_old_or_was_never_there_is_not_well(service: str, tmp_path: Path) -> None:
    services = yaml.safe_load((CONTAINERS / "compose.yaml").read_text(encoding="utf-8"))["services"]
    shell, check = services[service]["healthcheck"]["test"]
    heartbeat = tmp_path / "heartbeat"
    command = instead(
        check.replace("$$", "$"),
        (services[service]["environment"]["DESKBRIDGE_HEARTBEAT_PATH"], str(heartbeat)),
    )

    def is_well() -> bool:
        return subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=False).returncode == 0

    assert shell == "CMD-SHELL"
    assert not is_well()
    heartbeat.touch()
    assert is_well()
    old = time.time() - 40
    os.utime(heartbeat, (old, old))
    assert not is_well()


def test_redis_keeps_on_its_disk_what_it_was_given_and_forgets_nothing_for_want_of_room(
    stack: Engine,
) -> None:
    for name, wanted in (("appendonly", "yes"), ("maxmemory-policy", "noeviction")):
        asked = f"REDISCLI_AUTH=$(cut -d ' ' -f 2 /run/secrets/redis-conf) redis-cli config get {name}"
        said = stack.compose("exec", "-T", "redis", "sh", "-c", asked)
        assert said.split() == [name, wanted]


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


def test_events_go_through_one_worker_three_workers_and_a_kill_and_none_restarts(stack: Engine) -> None:
    sample = documented("how-to/install.md#commands") + documented("how-to/install.md#verify")
    assert "As expected: issue #" in stack.types(sample)
    assert logged(stack) == 0, "the sample leaves nothing"
    stack.compose("up", "-d", "--wait", "--no-recreate", "--scale", "worker=3", "worker")
    events = [
        task_event(of_ticket=ticket(5000 + number), of_task=task(9000 + number)) for number in range(TICKETS)
    ]
    send(stack, events)
    killed = stack.containers("worker")[1]["Id"]
    stack.docker("kill", killed)
    stack.compose("up", "-d", "--no-recreate", "--scale", "worker=1", "worker")
    until(lambda: logged(stack) >= TICKETS, lambda: "not all were logged", 120)
    send(stack, events)
    until(lambda: waiting(stack) == [], lambda: "something still waits", 180)
    assert logged(stack) == TICKETS, "each once"
    assert not any(sum(counts) for counts in restarts(stack).values()), restarts(stack)


@pytest.fixture(scope="module")
def watched(stack: Engine, base: str, tool: Callable[[str, str], Path]) -> Asked:
    """The stack with its profile `observe`: a Prometheus that scrapes each second, an Alertmanager and its receiver."""
    directory = Path(stack.environment["MONITORING"])
    for name, package, data in (
        ("prometheus", "prometheus", "--storage.tsdb.path=/prometheus"),
        ("alertmanager", "prometheus-alertmanager", "--storage.path=/alertmanager"),
    ):
        started = [f"/bin/{name}", f"--config.file=/etc/{name}/{name}.yml", data]
        context = directory / name
        context.mkdir()
        found = tool(package, package)
        shutil.copy(found, context / name)
        shared = found.parents[1] / "share" / "prometheus"
        shutil.copytree(shared, context / "share", ignore_dangling_symlinks=True)
        lines = (
            f"FROM {base}",
            f"COPY {name} /bin/{name}",
            "COPY share /usr/share/prometheus",
            f"RUN install -d -o nobody -g nogroup /{name}",
            "USER nobody",
            f"ENTRYPOINT {json.dumps(started)}",
        )
        (context / "Dockerfile").write_text("\n".join(lines), encoding="utf-8")
        stack.docker("build", "-q", "--network=host", "-t", f"deskbridge-{name}:local", str(context))
        stack.environment[f"{name.upper()}_IMAGE"] = f"deskbridge-{name}:local"
    (directory / "prometheus.yml").write_text(yaml.safe_dump(hasten(directory)), encoding="utf-8")
    alertmanager = yaml.safe_load((MONITORING / "alertmanager.yml").read_text(encoding="utf-8"))
    alertmanager["route"].update(group_wait="1s", group_interval="1s")
    alertmanager["receivers"][0]["webhook_configs"] = [{"url": "http://receiver:9095/"}]
    (directory / "alertmanager.yml").write_text(yaml.safe_dump(alertmanager), encoding="utf-8")
    only = "up -d --pull never prometheus alertmanager receiver"
    stack.types(instead(documented("how-to/install.md#watch"), ("up -d", only)))
    asked = Asked(f"http://{stack.environment['PROMETHEUS_PORT']}")
    until(asked.is_ready, lambda: stack.compose("logs", "--tail", "20", "prometheus"), 180)
    return asked


def test_prometheus_finds_every_process_and_answers_every_query_of_the_dashboard(
    stack: Engine, watched: Asked
) -> None:
    for process in OURS:
        watched.until(f'deskbridge_build_info{{process="{process}"}}', 180)
    assert not watched.query('up{job="deskbridge"} == 0')
    nobody = {"id": 99, "email": "nobody@example.test"}
    logged_before = logged(stack)
    send(stack, [task_event(of_ticket=ticket(7000), of_task=task(11000)),
                 task_event(of_ticket=ticket(7001), of_task=task(11001, user=nobody))])  # fmt: skip
    until(lambda: logged(stack) == logged_before + 2, "they were not logged", 180)
    for one in expressions():
        watched.until(one, 180)


def test_an_alert_reaches_whoever_is_to_be_told_and_leads_to_its_runbook(
    stack: Engine, watched: Asked
) -> None:
    def told(status: str) -> list[dict[str, Any]]:
        (receiver,) = stack.containers("receiver")
        lines = stack.docker("logs", receiver["Id"]).splitlines()
        alerts = [one for line in filter(None, lines) for one in json.loads(line)["alerts"]]
        name = "DeskbridgeProcessDown"
        return [one for one in alerts if (one["labels"]["alertname"], one["status"]) == (name, status)]

    def untold() -> str:
        said = stack.compose("--profile", "observe", "logs", "--tail", "20", "alertmanager", "receiver")
        return f"{watched.query('ALERTS')}\n{watched.query('up')}\n{said}"

    assert not told("firing")
    stack.compose("pause", "worker")
    try:
        (alert, *_) = until(lambda: told("firing"), untold, 180)
    finally:
        stack.compose("unpause", "worker")
    assert alert["labels"]["instance"].endswith(":9101")
    assert alert["annotations"]["summary"] == f"{alert['labels']['instance']} does not answer."
    console = "https://deskbridge.example.org"
    assert alert["annotations"]["runbook_url"] == f"{console}/console/knowledge/KB-SERVICE-010"
    until(lambda: told("resolved"), untold, 180)


def test_everything_ends_when_it_is_told_to_within_its_time(stack: Engine) -> None:
    started = time.monotonic()
    stack.compose("stop", *OURS)
    assert time.monotonic() - started < 40
    ended = {name: [one["State"]["ExitCode"] for one in stack.containers(name)] for name in OURS}
    assert ended == {name: [0] for name in OURS}
