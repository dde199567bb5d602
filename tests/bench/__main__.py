"""`python -m tests.bench [--quick] [--json]`: every benchmark, one table; 0 where every goal is met, 1 where not.

Each part is a process of its own and all of them run, also when one misses its goals or breaks.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from rich.console import Console

from tests.bench import metadata, pages, retention
from tests.bench.report import Row, show

MOST_S = 900.0
"""For all parts; a part that does not end in time is broken."""

Found = dict[str, Any]


def comparison(found: Found) -> list[Row]:
    """Return the lines of a part that makes them itself."""
    return [Row(**row) for row in found["rows"]]


def of_templates(found: Found) -> list[Row]:
    """Return the lines of the templates' part."""
    rows = []
    for one in found["measures"]:
        own = one["microseconds"]["deskbridge"]
        for peer, ratio in one["ratios"].items():
            goal = one["goals"].get(peer)
            shown = f"≥ {goal:g} times" if goal is not None else ""
            ok = ratio >= goal if goal is not None and one["ok"] is not None else None
            theirs = one["microseconds"][peer]
            name = f"template, {one['name']}, µs ({peer})"
            rows.append(
                Row("templates", name, f"{own:.0f}", f"{theirs:.0f}", f"{ratio:.2f}", shown, ok, "processor")
            )
    added = found["added_to_a_synced_event"]
    share, most = f"{added['share']:.1%}", f"< {added['goal']:.0%}"
    rows.append(
        Row(
            "templates",
            "added by templates to a synced event",
            share,
            "",
            share,
            most,
            added["ok"],
            "processor",
        )
    )
    return rows


def of_metadata(found: Found) -> list[Row]:
    """Return the lines of the metadata's part."""
    took, goal = found["seconds"], f"≥ {found['goal']:g} times, ≤ {metadata.MOST_MEMORY_MB} MB"
    own, peer = took["into an empty cache"], took["plain serial reader"]
    name = f"metadata, {sum(found['rows'].values())} rows, s ({found['memory_mb']:.0f} MB)"
    limit = f"the tracker's {metadata.LATENCY_MS} ms a page, and its one process"
    return [
        Row("metadata", name, f"{own:.1f}", f"{peer:.1f}", f"{found['ratio']:.1f}", goal, found["ok"], limit)
    ]


def of_retention(found: list[Found]) -> list[Row]:
    """Return the lines of the part on growth."""
    return [
        Row(
            "growth",
            f"a million rows: {one['question']}, ms (before: few)",
            f"{one['many_ms']:.2f}",
            f"{one['few_ms']:.2f}",
            f"{one['ratio']:.1f}",
            f"≤ {retention.WORST_RATIO:g}",
            one["ok"],
            "index" if not one["scans"] else " ".join(one["scans"]),
        )
        for one in found
    ]


def of_pages(found: list[Found]) -> list[Row]:
    """Return the lines of the console's pages."""
    return [
        Row(
            "pages",
            f"a million rows: {one['page']}, ms (before: few)",
            f"{one['many_ms']:.0f}",
            f"{one['few_ms']:.0f}",
            f"{one['ratio']:.1f} to an empty page",
            f"≤ {pages.WORST_MS:g} ms",
            one["ok"],
            f"{one['kilobytes']:.0f} KB",
        )
        for one in found
    ]


def of_backpressure(found: Found) -> list[Row]:
    """Return the lines of the hour without a tracker."""
    own, peer = f"{found['paused_ms']:.0f}", f"{found['quiet_ms']:.0f}"
    name = f"an hour without a tracker, {found['events']} events: an array of 500, ms (before)"
    ratio = found["paused_ms"] / found["quiet_ms"]
    missed = "; ".join(found["missed"])
    return [
        Row("outage", name, own, peer, f"{ratio:.2f}", "all holds", not missed, missed or "PostgreSQL's disk")
    ]


def of_growth(found: dict[str, list[Found]]) -> list[Row]:
    """Return the lines of both parts that grow."""
    return of_retention(found["questions"]) + of_pages(found["pages"])


PARTS: dict[str, tuple[Callable[[Any], list[Row]], bool]] = {
    "comparison": (comparison, True),
    "calls": (comparison, True),
    "floors": (comparison, False),
    "templates": (of_templates, True),
    "metadata": (of_metadata, False),
    "growth": (of_growth, False),
    "backpressure": (of_backpressure, False),
    "installations": (comparison, False),
    "storm": (comparison, False),
}
"""By module: how its JSON becomes lines, and whether it has a short form, which alone runs with --quick."""

OPTIONS = {
    "backpressure": ("--events", "20000"),
    "metadata": ("--users", "3000", "--projects", "300"),
}
"""By module, what keeps it short; by itself it takes more."""


def main() -> int:
    """Run every part, print the table, and return 1 where a goal is missed or a part broke."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="short rounds; prove that they run, judge no goal"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    arguments = parser.parse_args()
    began = time.monotonic()
    rows: list[Row] = []
    data: dict[str, Any] = {}
    for name, (lines, has_quick) in PARTS.items():
        if arguments.quick and not has_quick:
            continue
        print(f"[{time.monotonic() - began:5.0f} s] {name}", file=sys.stderr, flush=True)
        try:
            data[name] = _run(name, quick=arguments.quick, seconds=MOST_S - (time.monotonic() - began))
            rows += lines(data[name])
        except (subprocess.TimeoutExpired, ValueError, KeyError) as broken:
            told = f"broken: {type(broken).__name__}, see above"
            rows.append(Row(name, name, "", "", "", "", ok=False, limits=told))
    took = time.monotonic() - began
    if arguments.json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "seconds": took, **data}, indent=2))
    else:
        show(rows, Console(width=None if sys.stdout.isatty() else 180))
        print(f"{took:.0f} s")
    missed = [row.name for row in rows if row.ok is False]
    if missed:
        print(f"bench: missed: {'; '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


def _run(name: str, *, quick: bool, seconds: float) -> Any:
    """Run a part; return what it found.

    Raises:
        TimeoutExpired: it did not end in time.
        ValueError: it found nothing.
    """
    options = [*OPTIONS.get(name, ()), *(["--quick"] if quick else [])]
    command = [sys.executable, "-m", f"tests.bench.{name}", "--json", *options]
    return json.loads(
        subprocess.run(command, stdout=subprocess.PIPE, timeout=max(1, seconds), check=False).stdout
    )


if __name__ == "__main__":
    sys.exit(main())
