"""The table of ratios and goals, and the same as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from tests.bench.deskbridge import Deskbridge
from tests.bench.measures import Measure, Outcome
from tests.bench.plain import Plain

COSTS = {
    "statements": "SQL statements",
    "commits": "commits",
    "redis": "Redis commands",
    "calls": "calls to the tracker",
    "processor_ms": "processor time, ms",
    "database_ms": "PostgreSQL's, ms",
}


def show(outcome: Outcome, console: Console, *, judged: bool) -> None:
    """Print the table, and below it what one event costs."""
    title = "Events per second (median), deskbridge beside a plain Celery task"
    table = Table("measure", title=title, title_justify="left")
    for column in ("deskbridge", "plain", "ratio", "goal", "ok?"):
        table.add_column(column, justify="right")
    for measure in outcome.measures:
        verdict = ("yes" if measure.is_met else "NO") if judged else "not judged"
        table.add_row(
            measure.name,
            _spread(measure, Deskbridge.name),
            _spread(measure, Plain.name),
            f"{measure.ratio:.2f}",
            f"≥ {measure.goal:.2f}",
            verdict,
        )
    console.print(table)
    console.print(_costs(outcome))


def as_json(outcome: Outcome, *, judged: bool) -> str:
    """Return one JSON document."""
    measures = [
        {
            "name": measure.name,
            "deskbridge": measure.of(Deskbridge.name),
            "plain": measure.of(Plain.name),
            "ratio": measure.ratio,
            "goal": measure.goal,
            "ok": measure.is_met if judged else None,
            "rounds": measure.figures,
        }
        for measure in outcome.measures
    ]
    costs = {
        side: {"accepted": asdict(accepted), "synced": asdict(synced)}
        for side, (accepted, synced) in outcome.costs.items()
    }
    return json.dumps({"measures": measures, "costs_per_event": costs}, indent=2)


def _spread(measure: Measure, side: str) -> str:
    figures = measure.figures[side]
    return f"{measure.of(side):.0f} ({min(figures):.0f}–{max(figures):.0f})"


def _costs(outcome: Outcome) -> Table:
    table = Table("one event costs", title="Counted in one more round", title_justify="left")
    for phase in ("accepted", "synced"):
        for side in (Deskbridge.name, Plain.name):
            table.add_column(f"{phase}: {side}", justify="right")
    for name, words in COSTS.items():
        cells = [
            f"{getattr(outcome.costs[side][phase], name):.1f}"
            for phase in (0, 1)
            for side in (Deskbridge.name, Plain.name)
        ]
        table.add_row(words, *cells)
    return table
