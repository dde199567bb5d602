"""The table of forty failures, in order of their numbers."""

from __future__ import annotations

from tests.failures.rows import (
    connections,
    databases,
    environment,
    people,
    tracker,
)
from tests.failures.rows.row import Prevented, Row

ROWS: list[Row | Prevented] = sorted(
    (
        *connections.ROWS,
        *databases.ROWS,
        *environment.ROWS,
        *people.ROWS,
        *tracker.ROWS,
    ),
    key=lambda one: one.number,
)
