"""The benchmark runs, and its rounds are whole; what the figures are is `make bench`'s."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.bench

ROOT = Path(__file__).resolve().parents[2]


def _quick(module: str) -> Any:
    command = [sys.executable, "-m", module, "--quick", "--json"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_a_quick_run_measures_both_sides_and_judges_no_goal() -> None:
    found = _quick("tests.bench")
    assert len(found["measures"]) == 5
    for measure in found["measures"]:
        assert measure["deskbridge"] > 0, measure
        assert measure["plain"] > 0, measure
        assert measure["ok"] is None, measure
    calls = {side: costs["synced"]["calls"] for side, costs in found["costs_per_event"].items()}
    assert calls == {"deskbridge": 2, "plain": 2}, "the ratios would compare different work"


def test_a_quick_run_of_templates_measures_three_engines_and_a_synced_event() -> None:
    found = _quick("tests.bench.templates")
    for measure in found["measures"]:
        assert set(measure["microseconds"]) == {"deskbridge", "jinja2 sandbox", "chevron"}
        assert all(figure > 0 for figure in measure["microseconds"].values())
        assert measure["ok"] is None
    assert 0 < found["added_to_a_synced_event"]["share"] < 1
    assert found["added_to_a_synced_event"]["ok"] is None
