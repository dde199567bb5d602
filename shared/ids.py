"""What is an id, on every side."""

from __future__ import annotations

from typing import TypeGuard

LARGEST = 2**63 - 1
"""The largest integer that the database keeps (BIGINT); JSON and Python know larger ones."""


def is_id(value: object) -> TypeGuard[int]:
    """Tell whether a value of somebody's JSON is an id."""
    return type(value) is int and 0 < value <= LARGEST
