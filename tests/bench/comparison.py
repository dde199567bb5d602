"""`python -m tests.bench.comparison [--quick] [--json]`: exit 0 where every goal is met, 1 where one is missed."""

from __future__ import annotations

import argparse
import json
import sys
import time

from rich.console import Console

from tests.bench.errors import BrokenRun
from tests.bench.measures import FULL, QUICK, run
from tests.bench.report import as_data, rows_of, show


def main() -> int:
    """Run the comparison with a plain Celery application and print its table."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.comparison", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="one short round; proves that it runs, judges no goal"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    arguments = parser.parse_args()
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
        print(json.dumps(as_data(outcome, judged=judged), indent=2))
    else:
        show(rows_of(outcome, judged=judged), Console(width=None if sys.stdout.isatty() else 160))
    return 1 if judged and not all(one.is_met for one in outcome.measures) else 0


if __name__ == "__main__":
    sys.exit(main())
