"""`python -m tests.bench [--quick] [--json]`: exit 0 where every goal is met, 1 where one is missed."""

from __future__ import annotations

import argparse
import sys
import time

from rich.console import Console

from tests.bench.errors import BrokenRun
from tests.bench.measures import FULL, QUICK, run
from tests.bench.report import as_json, show


def main() -> int:
    """Run the benchmark and print its table."""
    arguments = _arguments()
    started = time.monotonic()
    progress = Console(stderr=True, highlight=False)

    def say(what: str) -> None:
        progress.print(f"[{time.monotonic() - started:5.1f} s] {what}", markup=False)

    try:
        outcome = run(QUICK if arguments.quick else FULL, say)
    except BrokenRun as broken:
        print(f"bench: broken run, no figures: {broken}", file=sys.stderr)
        return 1
    judged = not arguments.quick
    if arguments.json:
        print(as_json(outcome, judged=judged))
    else:
        show(outcome, Console(width=None if sys.stdout.isatty() else 120), judged=judged)
    missed = [measure.name for measure in outcome.measures if not measure.is_met]
    if judged and missed:
        print(f"bench: goal missed: {'; '.join(missed)}", file=sys.stderr)
        return 1
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="one short round; proves that it runs, judges no goal"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
