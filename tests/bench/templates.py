"""`python -m tests.bench.templates [--quick] [--json]`: exit 0 where every goal is met, 1 where one is missed."""

from __future__ import annotations

import argparse
import json
import sys
import time
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.bench.engines import Chevron, Deskbridge, Jinja2
from tests.bench.errors import BrokenRun
from tests.bench.template_measures import FULL, MOST_ADDED, QUICK, Added, Measure, run

PEERS = (Jinja2.name, Chevron.name)
NOTES = (
    "render: from a context to a request body without nulls. The peers give text: each value is written as JSON (by "
    "tojson in jinja2), and json.loads reads the whole.",
    "render: chevron has no filters, so plain Python makes its ten values first, within the time.",
    "compile: a template that is new to the process; it is kept. chevron only tokenises, so there is no goal.",
)


def main() -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.templates", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round; judges no goal")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    arguments = parser.parse_args()
    started = time.monotonic()
    progress = Console(stderr=True, highlight=False)

    def say(what: str) -> None:
        progress.print(f"[{time.monotonic() - started:5.1f} s] {what}", markup=False)

    try:
        measures, added = run(QUICK if arguments.quick else FULL, say)
    except BrokenRun as broken:
        print(f"bench: broken run, no figures: {broken}", file=sys.stderr)
        return 1
    judged = not arguments.quick
    if arguments.json:
        print(json.dumps(_as_data(measures, added, judged), indent=2))
    else:
        _show(measures, added, Console(width=None if sys.stdout.isatty() else 120), judged)
    missed = [one.name for one in measures if not one.is_met] + [added.name] * (not added.is_met)
    if judged and missed:
        print(f"bench: goal missed: {'; '.join(missed)}", file=sys.stderr)
        return 1
    return 0


def _show(measures: tuple[Measure, ...], added: Added, console: Console, judged: bool) -> None:
    title = "Templates: microseconds of processor time (median), and how many times as fast as the peer"
    table = Table("measure", title=title, title_justify="left")
    for column in (Deskbridge.name, *PEERS, *(f"to {peer}" for peer in PEERS), "ok?"):
        table.add_column(column, justify="right")
    for measure in measures:
        table.add_row(
            measure.name,
            *(_spread(measure.figures[name]) for name in (Deskbridge.name, *PEERS)),
            *(_ratio(measure, peer) for peer in PEERS),
            _verdict(measure.is_met, judged),
        )
    console.print(table)
    for note in NOTES:
        console.print(f"  {note}", highlight=False, soft_wrap=True)
    console.print(
        f"{added.name}: {_spread(added.event, 2)} ms, with templates {_spread(added.templated, 2)} ms: "
        f"{added.share:.1%}, goal < {MOST_ADDED:.0%}: {_verdict(added.is_met, judged)}",
        highlight=False,
    )


def _as_data(measures: tuple[Measure, ...], added: Added, judged: bool) -> dict[str, Any]:
    return {
        "measures": [
            {
                "name": one.name,
                "microseconds": {name: median(figures) for name, figures in one.figures.items()},
                "ratios": {peer: one.ratio(peer) for peer in PEERS},
                "goals": one.goals,
                "ok": one.is_met if judged else None,
                "rounds": one.figures,
            }
            for one in measures
        ],
        "added_to_a_synced_event": {
            "share": added.share,
            "goal": MOST_ADDED,
            "ok": added.is_met if judged else None,
            "event_ms": added.event,
            "with_templates_ms": added.templated,
        },
        "notes": NOTES,
    }


def _spread(figures: list[float], digits: int = 0) -> str:
    middle, least, most = (f"{one:.{digits}f}" for one in (median(figures), min(figures), max(figures)))
    return f"{middle} ({least}–{most})"


def _ratio(measure: Measure, peer: str) -> str:
    goal = measure.goals.get(peer)
    return f"{measure.ratio(peer):.2f}" + (f" (≥ {goal:.2f})" if goal is not None else "")


def _verdict(is_met: bool, judged: bool) -> str:
    return ("yes" if is_met else "NO") if judged else "not judged"


if __name__ == "__main__":
    sys.exit(main())
