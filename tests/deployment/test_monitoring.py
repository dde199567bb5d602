"""Alerts and dashboard: names, runbooks, and rules tested by promtool; test_containers runs a real Prometheus."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.deployment.conftest import ROOT
from tests.deployment.prometheus import DASHBOARD, MONITORING, RULES

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(400)]

Tool = Callable[[str, str], Path]
CONTAINERS = ROOT / "deploy" / "container"
GRID = 24
"""Number of columns in a dashboard."""

JOB = 'job="deskbridge",instance="i"'


@dataclass(frozen=True)
class Case:
    """Series that make an alert fire, and series that do not; in promtool's notation, one value per minute."""

    fires: tuple[str, ...]
    quiet: tuple[str, ...]


def gauge(name: str, fires: int, quiet: int = 0, **labels: str) -> Case:
    """Return the case of a gauge that keeps the first value, or the second one, for an hour and a half."""
    inside = ",".join(f'{key}="{value}"' for key, value in labels.items())
    series = f"deskbridge_{name}{{{inside}}}"
    return Case((f"{series}|{fires}x90",), (f"{series}|{quiet}x90",))


def spool(instance: str, parked: int, told: int) -> tuple[str, ...]:
    """Return the series of the help desk's spool that one producer received, and when."""
    labels = f'instance="{instance}",secret="0"'
    return (
        f'deskbridge_helpdesk_spool_events{{{labels},state="parked"}}|{parked}x90',
        f'deskbridge_helpdesk_spool_events{{{labels},state="waiting"}}|7x90',
        f"deskbridge_helpdesk_spool_told_timestamp_seconds{{{labels}}}|{told}x90",
    )


CASES = {
    "DeskbridgeProcessDown": Case((f"up{{{JOB}}}|0x90",), (f"up{{{JOB}}}|1x90", 'up{job="another"}|0x90')),
    "DeskbridgeProcessRestarts": Case(
        (f"process_start_time_seconds{{{JOB}}}|0+60x90",), (f"process_start_time_seconds{{{JOB}}}|60x90",)
    ),
    "DeskbridgeNoProducer": Case((), ("deskbridge_events_accepted_total|0x90",)),
    "DeskbridgeNoWorker": Case(
        ('deskbridge_last_seen_age_seconds{process="worker"}|120x90',),
        ('deskbridge_reachable{service="redis"}|0x90',),
    ),
    "DeskbridgeNoBeat": gauge("last_seen_age_seconds", 120, 9, process="beat"),
    "DeskbridgeDatabaseAway": gauge("reachable", 0, 1, service="database"),
    "DeskbridgeRedisAway": gauge("reachable", 0, 1, service="redis"),
    "DeskbridgeBrokerAway": gauge("reachable", 0, 1, service="broker"),
    "DeskbridgePaused": gauge("paused", 1, 0, code="tracker_away"),
    "DeskbridgeEventsWait": gauge("oldest_due_age_seconds", 400, 200),
    "DeskbridgeRateLimitHoldsBack": gauge("rate_limit_wait_seconds", 100, 5),
    "DeskbridgeWorkerClockOff": gauge("worker_clock_offset_seconds", 600, 1),
    "DeskbridgeSilent": Case(
        ("deskbridge_last_event_age_seconds|90000x90", "deskbridge_quiet_limit_seconds|86400x90"),
        ("deskbridge_last_event_age_seconds|80000x90", "deskbridge_quiet_limit_seconds|86400x90"),
    ),
    "DeskbridgeSharesRedis": gauge("installations", 2, 1),
    "DeskbridgeEventsFailed": gauge("events_failed", 1, 0, code="tracker_rejected"),
    "DeskbridgeOnHold": gauge("on_hold", 2),
    "DeskbridgeDeliveriesUnreadable": gauge("deliveries_unreadable", 1),
    "DeskbridgeEventsMissed": gauge("events_missed", 1),
    "DeskbridgeDeliveriesRefused": Case(
        ('deskbridge_requests_refused_total{status="401"}|0+30x90',),
        ('deskbridge_requests_refused_total{status="404"}|0+30x90',),
    ),
    "DeskbridgeNoDeliveryAccepted": gauge("deliveries_refused", 4),
    "DeskbridgeSpoolParked": Case(
        (*spool("a", parked=2, told=100), *spool("b", parked=0, told=50)),
        (*spool("a", parked=2, told=100), *spool("b", parked=0, told=150)),
    ),
    "DeskbridgeTrackerRefusesKey": Case(
        ('deskbridge_tracker_calls_total{status="401"}|0+1x90',),
        ('deskbridge_tracker_calls_total{status="422"}|0+1x90',),
    ),
    "DeskbridgeTrackerSlow": gauge("tracker_seconds_per_call", 4, 1),
    "DeskbridgeStatusesNotTaken": gauge("statuses_not_taken", 1),
    "DeskbridgeDefaultsNotUsable": gauge("defaults_not_usable", 1),
    "DeskbridgePartsFailing": gauge("parts_failing", 1),
    "DeskbridgeRecoveryLeftOn": gauge("recovery_left_on_seconds", 100_000, 80_000),
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


def test_every_alert_has_a_case() -> None:
    assert [rule["alert"] for rule in rules()] == list(CASES)


def test_grafana_finds_its_dashboard_and_prometheus_under_the_names_of_the_stack() -> None:
    provisioned = MONITORING / "grafana" / "provisioning"
    services = yaml.safe_load((CONTAINERS / "compose.yaml").read_text(encoding="utf-8"))["services"]
    mounted = dict(one.removesuffix(":ro").split(":") for one in services["grafana"]["volumes"])
    (source,) = _yaml(provisioned / "datasources" / "prometheus.yml")["datasources"]
    address = urlsplit(source["url"])
    assert address.hostname in services
    assert services[address.hostname]["ports"][0].endswith(f":{address.port}")
    (provider,) = _yaml(provisioned / "dashboards" / "deskbridge.yml")["providers"]
    assert (
        f"{provider['options']['path']}/{DASHBOARD.name}"
        == mounted[f"../monitoring/grafana/{DASHBOARD.name}"]
    )
    assert mounted["../monitoring/grafana/provisioning"] == "/etc/grafana/provisioning"
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    (choice,) = dashboard["templating"]["list"]
    assert (choice["type"], choice["query"]) == ("datasource", source["type"])
    assert [one["id"] for one in dashboard["panels"]] == [*range(1, len(dashboard["panels"]) + 1)]
    for panel in dashboard["panels"]:
        assert panel["title"]
        assert panel["datasource"] == {"type": source["type"], "uid": f"${{{choice['name']}}}"}
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= GRID, panel["title"]
        assert len({one["refId"] for one in panel["targets"]}) == len(panel["targets"]) > 0, panel["title"]


def _yaml(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert found["apiVersion"] == 1
    return found


def test_promtool_finds_nothing_wrong(tool: Tool) -> None:
    promtool = tool("promtool", "prometheus")
    for check in (("check", "rules", "--lint=all", "alerts.yml"), ("check", "config", "prometheus.yml")):
        ended = subprocess.run(
            [promtool, *check], capture_output=True, text=True, check=False, cwd=MONITORING
        )
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
    """Return promtool's test that the given number of alerts fires after 80 minutes of some series."""
    split = [one.rpartition("|") for one in series]
    expression = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)'
    wanted = {"expr": expression, "eval_time": "80m", "exp_samples": [{"labels": "{}", "value": firing}]}
    return {
        "name": f"{alert} {'fires' if firing else 'is quiet'}",
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, _, values in split],
        "promql_expr_test": [wanted],
    }
