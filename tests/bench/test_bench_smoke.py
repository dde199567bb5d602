"""The benchmark runs, judges each gate and fits in one screen; `make bench` checks the figures themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.bench import __main__ as bench
from tests.bench import calls, engines, templates
from tests.bench.errors import BrokenRun
from tests.bench.gates import GATES, OURS, PEER, WIDTH, Gate, Results, show

ROOT = Path(__file__).resolve().parents[2]


def _note(results: Results, name: str, gate: Gate, share_of_bound: float = 1) -> None:
    """Record figures that meet a gate exactly, or at a multiple of its bound."""
    results.note(name, PEER, 2.0)
    results.note(name, OURS, gate.bound * share_of_bound * (2 if gate.ratio else 1))


def _noted(missed: str | None = None) -> Results:
    """Return results that meet every gate, except the one that is to be missed."""
    results = Results()
    for name, gate in GATES.items():
        worse = 0.9 if gate.at_least else 1.1
        _note(results, name, gate, worse if name == missed else 1)
    return results


@pytest.mark.bench
def test_a_quick_run_measures_both_sides_for_every_gate_and_judges_none() -> None:
    command = [sys.executable, "-m", "tests.bench", "--quick", "--json"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert list(found) == list(GATES)
    for one in found.values():
        assert min(one[OURS] + one[PEER]) > 0, one


@pytest.mark.parametrize("name", GATES)
def test_a_figure_at_the_bound_meets_its_gate_and_one_beyond_misses_it(name: str) -> None:
    assert _noted().missed(judged=True) == []
    assert _noted(missed=name).missed(judged=True) == [GATES[name].measure]


def test_a_gate_is_judged_by_the_median_of_the_rounds() -> None:
    results = _noted()
    for _ in range(2):
        _note(results, "memory", GATES["memory"], 2)
    assert results.missed(judged=True) == [GATES["memory"].measure]


@pytest.mark.parametrize("results", [_noted("alone"), Results()])
def test_the_table_is_one_screen_of_100_columns(results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    show(results, judged=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= WIDTH == 100
    for name, gate in GATES.items():
        [line] = [one for one in lines if one.startswith(f"{gate.measure}  ")]
        assert str(gate) in line
        assert line.split()[-1] == ("yes" if results.is_met(name) else "NO")


@pytest.mark.parametrize(("until_s", "rounds"), [(0, [0]), (60, [0, 1, 2])])
def test_a_part_that_has_no_time_left_takes_one_round(until_s: float, rounds: list[int]) -> None:
    results = Results()
    with results.part("syncing", until_s):
        assert list(results.numbers(3)) == rounds


@pytest.mark.parametrize(("broken", "status"), [(False, 0), (True, 1)])
def test_a_part_that_breaks_is_reported_and_misses_its_gates_while_the_others_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, broken: bool, status: int
) -> None:
    class Comparison:
        def __init__(self, _size: object, _servers: object, results: Results) -> None:
            self._results = results

        def run(self) -> None:
            for name, gate in GATES.items():
                with self._results.part(name, until_s=60):
                    if broken and name == "accept":
                        raise BrokenRun("it lost an event")
                    if name != "templates":
                        _note(self._results, name, gate)

    def measure_templates(_size: object, _servers: object, results: Results) -> None:
        _note(results, "templates", GATES["templates"])

    monkeypatch.setattr(bench, "servers", nullcontext)
    monkeypatch.setattr(bench, "Comparison", Comparison)
    monkeypatch.setattr(templates, "measure", measure_templates)
    monkeypatch.setattr(sys, "argv", ["bench", "--json"])
    assert bench.main() == status
    told = capsys.readouterr()
    missed = [name for name, one in json.loads(told.out).items() if not one["met"]]
    assert missed == ["accept"] * broken
    assert ("it lost an event" in told.err) is broken


@pytest.mark.parametrize(
    ("part", "sizes", "sides"),
    [
        (calls, {"ROUNDS": 1, "CALLS": 2}, ["a call to the tracker", "requests"]),
        (
            engines,
            {"ROUNDS": 1, "RENDERINGS": 2, "COMPILATIONS": 1},
            ["deskbridge", "jinja2 sandbox", "chevron"],
        ),
    ],
)
def test_a_part_of_the_long_benchmark_prints_a_line_with_its_peers(
    part: Any,
    sizes: dict[str, int],
    sides: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, size in sizes.items():
        monkeypatch.setattr(part, name, size)
    part.main()
    for line in capsys.readouterr().out.splitlines():
        assert all(side in line for side in sides), line
