"""Counts the (failure, surface) pairs that the tables declare: `python -m tests.failures.pairs`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tests.failures.rows import ROWS
from tests.failures.rows.breakages import BREAKAGES
from tests.failures.rows.row import Nothing, Prevented
from tests.failures.rows.steps import STEPS
from tests.failures.rows.surfaces import SURFACES
from tests.failures.test_a_trace_names_it import REFUSED, WAITING
from tests.failures.test_the_doctor_names_it import FAILURES

FEWEST = 408
"""The number of pairs must not fall below this number."""
MONITORS = ("readyz", "metrics")
ASKED = ((FAILURES, ("doctor",)), (REFUSED, ("history", "events")), (WAITING, ("history",)))
"""The tables of failures that not every surface shows, each with its surfaces."""


def pairs() -> Iterator[tuple[str, str]]:
    """Yield each failure with each surface whose words about it a test checks."""
    for row in (*ROWS, *BREAKAGES, *STEPS):
        if isinstance(row, Prevented):
            if not isinstance(row.history, Nothing):
                yield str(row), "history"
            yield str(row), "overview"
            continue
        yield from ((str(row), name) for name in SURFACES if not isinstance(row.of(name), Nothing))
        if row.readyz is not None:
            yield from ((str(row), name) for name in MONITORS)
    for failures, surfaces in ASKED:
        yield from ((str(failure), name) for failure in failures for name in surfaces)


if __name__ == "__main__":
    counts = Counter(surface for _, surface in set(pairs()))
    for surface, count in counts.most_common():
        print(f"{count:5} {surface}")
    print(f"{counts.total():5} pairs")
