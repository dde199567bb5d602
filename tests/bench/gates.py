"""The speed gates: the bound of each, the measured figures, and the table of both."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

WIDTH = 100
OURS, PEER = "deskbridge", "plain"


@dataclass(frozen=True)
class Gate:
    """A bound on one measure.

    Attributes:
        measure: what is measured, with its unit.
        bound: the highest value that the figure may have, or the lowest.
        at_least: whether the bound is the lowest value.
        ratio: whether the ratio to the peer is judged instead of deskbridge's own figure.
    """

    measure: str
    bound: float
    at_least: bool = False
    ratio: bool = True

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}{' ×' if self.ratio else ''}"

    def is_met(self, figure: float) -> bool:
        """Return whether a figure, or a ratio, is within the bound."""
        return figure >= self.bound if self.at_least else figure <= self.bound


GATES = {
    "processor": Gate("processor time per synced event, ms", 0.45),
    "database": Gate("PostgreSQL's processor time per synced event, ms", 0.7),
    "statements": Gate("SQL statements per synced event of a backlog", 4, ratio=False),
    "commits": Gate("commits per synced event of a backlog", 0.5, ratio=False),
    "sync 0 ms": Gate("synced events/s, tracker at 0 ms", 2.5, at_least=True),
    "sync 20 ms": Gate("synced events/s, tracker at 20 ms", 3.0, at_least=True),
    "sync 100 ms": Gate("synced events/s, tracker at 100 ms", 3.5, at_least=True),
    "sync 20 ms, equal calls": Gate("synced events/s, tracker at 20 ms, 2 × 8 calls", 1.6, at_least=True),
    "sync 100 ms, equal calls": Gate("synced events/s, tracker at 100 ms, 2 × 8 calls", 1.0, at_least=True),
    "accept": Gate("accepted events/s, one by one", 2.0, at_least=True),
    "accept arrays": Gate("accepted events/s, arrays of 50", 8, at_least=True),
    "alone": Gate("one event alone, to its time entry, ms", 1.4),
    "producer": Gate("start of a producer, s", 1.2, ratio=False),
    "worker": Gate("start of a worker, to its first time entry, s", 1.2, ratio=False),
    "memory": Gate("memory of the largest process, MB", 140, ratio=False),
    "templates": Gate("one event with active templates, processor ms", 1.1),
}
"""By the name under which a run records figures. The peer of `templates` is deskbridge without templates."""


@dataclass
class Results:
    """The figures of a run.

    Attributes:
        rounds: the figure of each round, by gate and side.
        began: start of the run, by the monotonic clock.
    """

    rounds: dict[str, dict[str, list[float]]] = field(
        default_factory=lambda: {name: {OURS: [], PEER: []} for name in GATES}
    )
    began: float = field(default_factory=time.monotonic)
    _until_s: float = 0

    def note(self, gate: str, side: str, figure: float) -> None:
        """Record the figure of one round."""
        self.rounds[gate][side].append(figure)

    @contextmanager
    def part(self, name: str, until_s: float) -> Iterator[None]:
        """Run a part of the benchmark; if it breaks, show why and continue: its gates lack figures, so they are missed.

        Args:
            name: name of the part.
            until_s: seconds since the run's start after which the part starts no new round.
        """
        self._until_s = until_s
        print(f"[{time.monotonic() - self.began:5.1f} s] {name}", file=sys.stderr, flush=True)
        try:
            yield
        except Exception:  # noqa: BLE001 (whatever breaks one part, the others run)
            print(f"bench: no figures of this part: {name}\n{traceback.format_exc()}", file=sys.stderr)

    def numbers(self, rounds: int) -> Iterator[int]:
        """Yield the numbers of a part's rounds: always the first, more of them while it has time."""
        for number in range(rounds):
            if number == 0 or time.monotonic() < self.began + self._until_s:
                yield number

    def figures(self, gate: str) -> tuple[float, float, float] | None:
        """Return the medians of both sides and their ratio, or None if a side has no figure."""
        ours, peer = self.rounds[gate].values()
        if not ours or not peer:
            return None
        return median(ours), median(peer), median(ours) / median(peer)

    def is_met(self, gate: str) -> bool:
        """Return whether a gate is met."""
        figures = self.figures(gate)
        return figures is not None and GATES[gate].is_met(figures[2 if GATES[gate].ratio else 0])

    def missed(self, *, judged: bool) -> list[str]:
        """Return the measures of the missed gates or, if figures are not judged, of the gates without figures."""
        met = self.is_met if judged else self.figures
        return [gate.measure for name, gate in GATES.items() if not met(name)]

    def as_data(self) -> dict[str, Any]:
        """Return everything as JSON data."""
        return {
            name: {"measure": gate.measure, "gate": str(gate), "met": self.is_met(name), **self.rounds[name]}
            for name, gate in GATES.items()
        }


def show(results: Results, *, judged: bool) -> None:
    """Print the table: 100 columns, one line per gate.

    Args:
        results: results of the whole run.
        judged: whether the run was long enough to judge it.
    """
    table = Table("measure (medians)", box=None, pad_edge=False)
    for column in (OURS, "peer", "ratio", "gate", "met"):
        table.add_column(column, justify="right", min_width=6)
    for name, gate in GATES.items():
        figures = results.figures(name)
        shown = [_digits(figure) for figure in figures] if figures else ["–"] * 3
        met = "yes" if results.is_met(name) else "NO"
        table.add_row(gate.measure, *shown, str(gate), met if judged else "–")
    console = Console(width=WIDTH, highlight=False)
    console.print(table)
    console.print(
        "\nGates with × judge the ratio to the peer, a plain Celery application without guarantees."
    )
    console.print("The peer of templates is deskbridge without them.")
    missed, took = len(results.missed(judged=judged)), time.monotonic() - results.began
    what = "gates missed" if judged else "gates without figures; a quick run judges none"
    console.print(f"{took:.0f} s, {missed} of {len(GATES)} {what}")


def _digits(figure: float) -> str:
    return f"{figure:.{0 if figure >= 100 else 1 if figure >= 10 else 2}f}"
