"""The benchmark runs, and its rounds are whole; what the figures are is `make bench`'s."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bench import __main__ as bench
from tests.bench import calls

ROOT = Path(__file__).resolve().parents[2]


def _quick(module: str) -> Any:
    command = [sys.executable, "-m", module, "--quick", "--json"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.bench
def test_a_quick_run_is_one_table_that_measures_both_sides_and_judges_no_goal() -> None:
    found = _quick("tests.bench")
    compared = found["comparison"]
    assert len(compared["measures"]) == 18
    for measure in compared["measures"]:
        assert measure["deskbridge"] > 0, measure
        assert measure["plain"] > 0, measure
        assert measure["ok"] is None, measure
    for row in found["rows"]:
        assert row["ok"] is None, row
        assert row["limits"], row
    assert {row["part"] for row in found["rows"]} == {"core", "call", "templates"}


def test_a_part_that_breaks_or_takes_too_long_is_told_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def part(name: str, **_: Any) -> Any:
        if name == "comparison":
            raise subprocess.TimeoutExpired(name, 1)
        if name == "calls":
            return {"rows": [vars(calls.row({"deskbridge": [1.0], "requests": [2.0]}, judged=True))]}
        return {}

    monkeypatch.setattr(bench, "_run", part)
    monkeypatch.setattr(sys, "argv", ["bench", "--json", "--quick"])
    assert bench.main() == 1
    rows = {row["part"]: row["ok"] for row in json.loads(capsys.readouterr().out)["rows"]}
    assert rows == {"comparison": False, "call": True, "templates": False}


@pytest.mark.bench
def test_a_quick_run_of_templates_measures_three_engines_and_a_synced_event() -> None:
    found = _quick("tests.bench.templates")
    for measure in found["measures"]:
        assert set(measure["microseconds"]) == {"deskbridge", "jinja2 sandbox", "chevron"}
        assert all(figure > 0 for figure in measure["microseconds"].values())
        assert measure["ok"] is None
    added = found["added_to_a_synced_event"]
    assert min(added["event_ms"] + added["with_templates_ms"]) > 0
    assert added["ok"] is None
