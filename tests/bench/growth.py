"""`python -m tests.bench.growth [--json]`: what is asked all the time, and every page, over the same million rows.

Each by itself: `tests.bench.retention` and `tests.bench.pages`.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from tests.bench import pages, retention
from tests.bench.servers import servers


def main() -> int:
    """Measure, print, and return 1 where a question does not stay as quick, or a page takes too long."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.growth", description=__doc__)
    parser.add_argument("--rows", type=int, default=retention.MANY, help="in each table")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with servers() as started, pages.large_console(started) as (database, load):
        few, many = retention.growing(database, arguments.rows, lambda: (retention.ask(database), load()))
    questions, loaded = retention.figures(few[0], many[0]), pages.figures(few[1], many[1])
    found = {
        "questions": [{**asdict(one), "ratio": one.ratio, "ok": one.is_met} for one in questions],
        "pages": [{**asdict(one), "ok": one.is_met} for one in loaded],
    }
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        for name, few_ms, many_ms in [
            *((one.question, one.few_ms, one.many_ms) for one in questions),
            *((one.page, one.few_ms, one.many_ms) for one in loaded),
        ]:
            print(f"{name:52} {few_ms:8.1f} ms {many_ms:9.1f} ms")
    return 0 if all(one["ok"] for some in found.values() for one in some) else 1


if __name__ == "__main__":
    sys.exit(main())
