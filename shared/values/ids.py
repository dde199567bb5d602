"""The definition of an id, the same for every system."""

from __future__ import annotations

import secrets
from typing import TypeGuard

LARGEST = 2**63 - 1
"""The largest integer that the database stores (BIGINT); JSON and Python allow larger ones."""
SAMPLES = 2**48
"""How many of the largest ids are reserved for `deskbridge event send --sample`; no help desk assigns them."""
MOST_DIGITS = len(str(LARGEST))


def is_id(value: object) -> TypeGuard[int]:
    """Return whether a value from external JSON is an id."""
    return type(value) is int and 0 < value <= LARGEST


def id_in(reference: object) -> int | None:
    """Return the id in the tracker's `{"id": N, "name": …}`, or None for anything else."""
    found = reference.get("id") if isinstance(reference, dict) else None
    return found if is_id(found) else None


def read_id(text: str) -> int | None:
    """Return the id, or 0, in a text of digits, or None for any other text."""
    digits = text if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else ""
    return int(digits) if digits and int(digits) <= LARGEST else None


def is_sample(number: int) -> bool:
    """Return whether an id is reserved for `deskbridge event send --sample`."""
    return LARGEST - SAMPLES < number <= LARGEST


def new_sample() -> int:
    """Return a random id for a sample, so that two concurrent samples differ."""
    return LARGEST - secrets.randbelow(SAMPLES)
