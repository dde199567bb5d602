"""`python -m tests.bench [--quick] [--json]`: every speed gate in one table; exits with 1 if one is missed."""

from __future__ import annotations

import argparse
import json
import sys

from tests.bench import templates
from tests.bench.comparison import FULL, QUICK, Comparison
from tests.bench.gates import Results, show
from tests.bench.servers import servers


def main() -> int:
    """Run every part, even if one misses its gate or breaks; print the table; return 1 if a gate is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short rounds that prove it runs; judge no gate")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    arguments = parser.parse_args()
    results, judged = Results(), not arguments.quick
    with servers() as shared:
        Comparison(QUICK if arguments.quick else FULL, shared, results).run()
        with results.part("active templates", until_s=240):
            templates.measure(templates.QUICK if arguments.quick else templates.FULL, shared, results)
    if arguments.json:
        print(json.dumps(results.as_data(), indent=2))
    else:
        show(results, judged=judged)
    return 1 if results.missed(judged=judged) else 0


if __name__ == "__main__":
    sys.exit(main())
