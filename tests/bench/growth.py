"""`python -m tests.bench.growth`: the frequent queries, and every page, over the same million rows."""

from __future__ import annotations

import sys

from tests.bench import pages, retention
from tests.bench.servers import servers


def main() -> int:
    """Print the milliseconds over few rows and over a million; return 1 if a query becomes slow."""
    with servers() as started, pages.large_console(started) as (database, load):
        few, many = retention.growing(
            database, retention.MANY, lambda: (retention.ask(database), pages.every_page(load))
        )
    questions = retention.figures(few[0], many[0])
    print(f"{'':60} {retention.FEW:>8,} {retention.MANY:>10,} rows")
    for one in questions:
        wrong = "" if one.is_met else f"  NO: ratio {one.ratio:.1f} {' '.join(one.scans)}"
        print(f"{one.question:60} {one.few_ms:8.1f} {one.many_ms:10.1f} ms{wrong}")
    for page, (few_ms, many_ms, kilobytes) in pages.figures(few[1], many[1]).items():
        print(f"/console{page:52} {few_ms:8.1f} {many_ms:10.1f} ms, {kilobytes:.0f} KB")
    return 0 if all(one.is_met for one in questions) else 1


if __name__ == "__main__":
    sys.exit(main())
