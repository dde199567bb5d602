"""Metrics: no label can grow without bounds."""

from __future__ import annotations

import pytest
from prometheus_client import generate_latest

from shared.telemetry import metrics


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
