"""One table of figures and goals, and the same as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.bench.deskbridge import Deskbridge
from tests.bench.measures import Measure, Outcome, digits
from tests.bench.plain import Plain


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        part: which benchmark it is of.
        name: what is measured.
        ours: deskbridge's figure as it is shown.
        peer: the peer's.
        judged: what the goal is for.
        goal: as it is shown.
        ok: whether it is met; None: not judged.
        limits: what limits the figure.
    """

    part: str
    name: str
    ours: str
    peer: str
    judged: str
    goal: str
    ok: bool | None
    limits: str = ""


def rows_of(outcome: Outcome, *, judged: bool) -> list[Row]:
    """Return the lines of the comparison."""
    return [
        Row(
            "core",
            one.name,
            _spread(one, Deskbridge.name),
            _spread(one, Plain.name),
            f"{one.judged:.2f}",
            f"{'≤' if one.at_most else '≥'} {one.goal:g}{'' if one.alone else ' of the peer'}",
            one.is_met if judged else None,
            one.limits,
        )
        for one in outcome.measures
    ]


def as_data(outcome: Outcome, *, judged: bool) -> dict[str, Any]:
    """Return the comparison as JSON data."""
    return {
        "rows": [asdict(row) for row in rows_of(outcome, judged=judged)],
        "measures": [
            {
                "name": one.name,
                "deskbridge": one.of(Deskbridge.name),
                "plain": one.of(Plain.name),
                "judged": one.judged,
                "goal": one.goal,
                "ok": one.is_met if judged else None,
                "rounds": one.figures,
            }
            for one in outcome.measures
        ],
        "costs_per_event": {
            side: {"accepted": asdict(accepted), "synced": asdict(synced)}
            for side, (accepted, synced) in outcome.costs.items()
        },
    }


def show(rows: list[Row], console: Console) -> None:
    """Print the table."""
    table = Table(
        "measure", title="deskbridge beside its peers, medians (lowest–highest)", title_justify="left"
    )
    for column in ("deskbridge", "peer", "judged", "goal", "ok?"):
        table.add_column(column, justify="right")
    table.add_column("what limits it")
    part = ""
    for row in rows:
        if row.part != part:
            table.add_section()
            part = row.part
        verdict = {True: "yes", False: "NO", None: "not judged"}[row.ok]
        table.add_row(row.name, row.ours, row.peer, row.judged, row.goal, verdict, row.limits)
    console.print(table)


def _spread(measure: Measure, side: str) -> str:
    figures = measure.figures[side]
    middle = measure.of(side)
    few = digits(middle)
    if len(figures) == 1:
        return f"{middle:.{few}f}"
    return f"{middle:.{few}f} ({min(figures):.{few}f}–{max(figures):.{few}f})"
