"""The benchmark runs, and its rounds are whole; what the figures are is `make bench`'s."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_a_quick_run_measures_both_sides_and_judges_no_goal() -> None:
    command = [sys.executable, "-m", "tests.bench", "--quick", "--json"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert len(found["measures"]) == 5
    for measure in found["measures"]:
        assert measure["deskbridge"] > 0, measure
        assert measure["plain"] > 0, measure
        assert measure["ok"] is None, measure
    calls = {side: costs["synced"]["calls"] for side, costs in found["costs_per_event"].items()}
    assert calls == {"deskbridge": 2, "plain": 2}, "the ratios would compare different work"
