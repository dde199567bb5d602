"""Alerts and dashboard, asked of a real Prometheus that scrapes real processes."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from deploy.embedded.child import Child
from deploy.embedded.ports import HOST, free_port
from deploy.sandbox.tracker.control import StandIn
from producer.admin.knowledge.shipped import shipped
from shared import metrics
from tests.support.events import task, task_event
from tests.support.fleet import ROOT, Fleet

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(240)]

Tool = Callable[[str, str], Path]
HERE = ROOT / "deploy" / "monitoring"
RULES = HERE / "alerts.yml"
DASHBOARD = HERE / "grafana" / "deskbridge.json"
JOB = 'job="deskbridge",instance="i"'


@dataclass(frozen=True)
class Case:
    """Series that make an alert fire, and series beside which it is quiet; promtool's notation, a value a minute."""

    fires: tuple[str, ...]
    quiet: tuple[str, ...]


def gauge(name: str, fires: int, quiet: int = 0, **labels: str) -> Case:
    """A gauge that is at one value, or at another, for an hour and a half."""
    inside = ",".join(f'{key}="{value}"' for key, value in labels.items())
    series = f"deskbridge_{name}{{{inside}}}"
    return Case((f"{series}|{fires}x90",), (f"{series}|{quiet}x90",))


CASES = {
    "DeskbridgeProcessDown": Case((f"up{{{JOB}}}|0x90",), (f"up{{{JOB}}}|1x90", 'up{job="another"}|0x90')),
    "DeskbridgeNoProducer": Case((), ("deskbridge_events_accepted_total|0x90",)),
    "DeskbridgeNoWorker": gauge("last_seen_age_seconds", 120, 9, process="worker"),
    "DeskbridgeNoBeat": gauge("last_seen_age_seconds", 120, 9, process="beat"),
    "DeskbridgeDatabaseAway": gauge("reachable", 0, 1, service="database"),
    "DeskbridgeRedisAway": gauge("reachable", 0, 1, service="redis"),
    "DeskbridgeBrokerAway": gauge("reachable", 0, 1, service="broker"),
    "DeskbridgePaused": gauge("paused", 1, 0, code="tracker_away"),
    "DeskbridgeEventsWait": gauge("oldest_due_age_seconds", 400, 200),
    "DeskbridgeEventsFailed": gauge("events_failed", 1, 0, code="tracker_rejected"),
    "DeskbridgeHeld": gauge("held", 2),
    "DeskbridgeDeliveriesParked": gauge("deliveries_parked", 1),
    "DeskbridgeEventsMissed": gauge("events_missed", 1),
    "DeskbridgeDeliveriesRefused": Case(
        ('deskbridge_requests_refused_total{status="401"}|0+30x90',),
        ('deskbridge_requests_refused_total{status="404"}|0+30x90',),
    ),
    "DeskbridgeTrackerRefusesKey": Case(
        ('deskbridge_tracker_calls_total{status="401"}|0+1x90',),
        ('deskbridge_tracker_calls_total{status="422"}|0+1x90',),
    ),
    "DeskbridgeTrackerSlow": Case(
        (
            'deskbridge_tracker_call_seconds_bucket{le="2.5"}|0+1x90',
            'deskbridge_tracker_call_seconds_bucket{le="5"}|0+10x90',
            'deskbridge_tracker_call_seconds_bucket{le="+Inf"}|0+10x90',
        ),
        (
            'deskbridge_tracker_call_seconds_bucket{le="0.1"}|0+10x90',
            'deskbridge_tracker_call_seconds_bucket{le="+Inf"}|0+10x90',
        ),
    ),
    "DeskbridgeWrongAuthors": gauge("misattributed", 1),
    "DeskbridgeMetadataOld": Case(
        ("deskbridge_metadata_synchronised_timestamp_seconds|-20000x90",),
        ("deskbridge_metadata_synchronised_timestamp_seconds|0x90",),
    ),
}


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def expressions() -> list[str]:
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def test_every_alert_has_a_case_and_a_runbook_that_exists() -> None:
    assert [rule["alert"] for rule in rules()] == list(CASES)
    for rule in rules():
        link = rule["annotations"]["runbook_url"]
        assert link.startswith("{{ $externalLabels.console }}/console/knowledge/KB-"), rule["alert"]
        assert shipped(link.rpartition("/")[2]), rule["alert"]


def test_alerts_and_dashboard_ask_for_metrics_that_exist() -> None:
    text = RULES.read_text(encoding="utf-8") + "\n".join(expressions())
    asked = {re.sub(r"_(bucket|sum|count)$", "", name) for name in re.findall(r"\bdeskbridge_\w+", text)}
    counted = (*metrics.INBOUND, *metrics.WORK)
    known = {
        family.name + ("_total" if family.type == "counter" else "")
        for one in counted
        for family in one.describe()
    }
    known |= {one.name for one in (*metrics.LOOKED_UP, metrics.BUILD)}
    assert asked - known == set()
    assert known - asked <= {
        "deskbridge_reconciled_timestamp_seconds",
        "deskbridge_deliveries_unreadable_total",
    }


def test_promtool_finds_nothing_wrong(tool: Tool) -> None:
    promtool = tool("promtool", "prometheus")
    for check in (("check", "rules", "--lint=all", "alerts.yml"), ("check", "config", "prometheus.yml")):
        ended = subprocess.run([promtool, *check], capture_output=True, text=True, check=False, cwd=HERE)
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_each_alert_fires_when_it_should_and_not_otherwise(tool: Tool, tmp_path: Path) -> None:
    tests = [_unit_test(alert, case.fires, 1) for alert, case in CASES.items()]
    tests += [_unit_test(alert, case.quiet, 0) for alert, case in CASES.items()]
    file = tmp_path / "alerts.test.yml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    promtool = tool("promtool", "prometheus")
    ended = subprocess.run([promtool, "test", "rules", file], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def _unit_test(alert: str, series: tuple[str, ...], firing: int) -> dict[str, Any]:
    """Return promtool's test that so many of an alert fire after 80 minutes of some series."""
    split = [one.rpartition("|") for one in series]
    expression = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)'
    wanted = {"expr": expression, "eval_time": "80m", "exp_samples": [{"labels": "{}", "value": firing}]}
    return {
        "name": f"{alert} {'fires' if firing else 'is quiet'}",
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, _, values in split],
        "promql_expr_test": [wanted],
    }


class Prometheus:
    """A Prometheus with our rules over some targets.

    Args:
        program: prometheus.
        directory: for its data.
        targets: HOST:PORT of each process.
    """

    def __init__(self, program: Path, directory: Path, targets: list[str]) -> None:
        config = yaml.safe_load((HERE / "prometheus.yml").read_text(encoding="utf-8"))
        config["global"].update(scrape_interval="1s", evaluation_interval="1s")
        config["rule_files"] = [str(directory / "alerts.yml")]
        del config["alerting"]
        config["scrape_configs"] = [{"job_name": "deskbridge", "static_configs": [{"targets": targets}]}]
        (directory / "prometheus.yml").write_text(yaml.safe_dump(config))
        # a test waits for no alert's patience
        (directory / "alerts.yml").write_text(
            re.sub(r"for: \w+", "for: 1s", RULES.read_text(encoding="utf-8"))
        )
        port = free_port()
        self.url = f"http://{HOST}:{port}"
        arguments = [f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data",
                     f"--web.listen-address={HOST}:{port}"]  # fmt: skip
        self.child = Child("prometheus", [program, *arguments], log=directory / "prometheus.log")

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return what an expression is now."""
        answer = requests.get(f"{self.url}/api/v1/query", params={"query": expression}, timeout=10).json()
        assert answer["status"] == "success", answer
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    def until(self, expression: str, seconds: float = 30) -> None:
        """Wait until an expression has a value."""
        deadline = time.monotonic() + seconds
        while not self.query(expression):
            assert time.monotonic() < deadline, f"never: {expression}"
            time.sleep(0.2)

    def is_ready(self) -> bool:
        """Tell whether it answers."""
        try:
            return requests.get(f"{self.url}/-/ready", timeout=1).ok
        except requests.ConnectionError:
            return False


@pytest.fixture
def fleet(tmp_path: Path, postgres_url: str, redis_url: str) -> Iterator[Fleet]:
    with StandIn(in_process=True) as stand_in:
        made = Fleet(tmp_path, postgres_url, redis_url, stand_in)
        try:
            yield made.start()
        finally:
            made.stop()


def test_every_query_of_the_dashboard_is_answered_and_an_alert_fires(
    fleet: Fleet, tool: Tool, tmp_path: Path
) -> None:
    worker, beat, console = (free_port() for _ in range(3))
    fleet.add_worker(2, DESKBRIDGE_MONITOR_LISTEN=f"{HOST}:{worker}")
    for name, *command in (("other-beat", "beat"), ("console", "console", "--port", str(console))):
        child = fleet.child(name, *command, DESKBRIDGE_MONITOR_LISTEN=f"{HOST}:{beat}")
        fleet.processes.start(child)
    targets = [f"{HOST}:{port}" for port in (fleet.port, worker, beat, console)]
    prometheus = Prometheus(tool("prometheus", "prometheus"), tmp_path, targets)
    fleet.processes.start(prometheus.child, prometheus.is_ready)
    prometheus.until('count(up{job="deskbridge"} == 1) == 4')
    nobody = {"id": 99, "email": "nobody@example.test"}
    fleet.send([("one", task_event()), ("two", task_event(of_task=task(513, user=nobody)))])
    fleet.wait_until_drained(30)
    prometheus.until('sum(deskbridge_events_ended_total{outcome="done"}) == 2')
    for one in expressions():
        prometheus.until(one, 10)
    assert not prometheus.query('ALERTS{alertname="DeskbridgeProcessDown"}')
    fleet.workers[0].kill()
    prometheus.until(
        f'ALERTS{{alertname="DeskbridgeProcessDown",alertstate="firing",instance="{HOST}:{worker}"}}'
    )
