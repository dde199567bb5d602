"""Every metric is counted and shown, and no label has unbounded values."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import generate_latest
from prometheus_client.metrics import MetricWrapperBase

from shared.telemetry import metrics

ROOT = Path(__file__).resolve().parents[2]
DECLARED = {
    name: one
    for name, one in vars(metrics).items()
    if isinstance(one, MetricWrapperBase | metrics.ScrapedGauge)
}
COUNTED_WHERE_DECLARED = {"BUILD", "CALLS", "CALL_SECONDS"}
"""`registry` and `called` count them in the module itself."""


@pytest.mark.parametrize("process", list(metrics.BY_PROCESS))
def test_each_process_says_what_runs(process: str) -> None:
    shown = generate_latest(metrics.registry(process)).decode()
    (line,) = [line for line in shown.splitlines() if line.startswith("deskbridge_build_info{")]
    assert f'process="{process}"' in line
    assert line.endswith(" 1.0")


@pytest.mark.parametrize(
    ("method", "path", "operation"),
    [
        ("POST", "/issues.json", "POST issues"),
        ("PUT", "/issues/17.json", "PUT issues"),
        ("GET", "/issues.json?issue_id=17", "GET issues"),
        ("POST", "/projects/3/memberships.json", "POST memberships"),
        ("GET", "/enumerations/time_entry_activities.json", "GET time_entry_activities"),
        ("GET", "/users/current.json", "GET users"),
        ("GET", "/somebody's/words.json", "GET other"),
        ("BREW", "/issues.json", "other issues"),
    ],
)
def test_a_call_is_counted_by_what_it_does_and_not_by_what_it_names(
    method: str, path: str, operation: str
) -> None:
    assert metrics.operation(method, path) == operation


def test_a_status_that_no_tracker_has_is_counted_as_another() -> None:
    before = metrics.CALLS.labels(operation="GET issues", status="other")._value.get()
    metrics.called("GET", "/issues.json", "799", 0.1)
    assert metrics.CALLS.labels(operation="GET issues", status="other")._value.get() == before + 1


def test_every_metric_is_shown() -> None:
    shown = {metrics.BUILD, *metrics.LOOKED_UP, *metrics.INBOUND, *metrics.WORK}
    assert [name for name, one in DECLARED.items() if one not in shown] == []


def test_every_metric_is_counted() -> None:
    files = [path for part in ("producer", "shared", "worker") for path in (ROOT / part).rglob("*.py")]
    code = "".join(path.read_text(encoding="utf-8") for path in files)
    counted = {name for name in DECLARED if f"metrics.{name}" in code} | COUNTED_WHERE_DECLARED
    assert set(DECLARED) - counted == set()
