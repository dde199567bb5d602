"""The hours that the tracker lists for hours that were sent to it (decision 18). Pure."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

MOST_HOURS = 1e9
CENT = Decimal("0.01")
SINGLE_PRECISION = 1e-5  # a database that stores six digits of the hours changes them by less


def hours_listed_for(sent: Any) -> frozenset[Decimal]:
    """Return the hours that a supported tracker version may list for the hours that were sent.

    Redmine 5.0 rounds to two decimals; 6.0 and 6.1 to whole minutes first. Near a half, a value that is stored in
    single precision (MySQL) may be rounded the other way.
    """
    hours = number_of(sent)
    near = () if hours is None else (hours * (1 - SINGLE_PRECISION), hours, hours * (1 + SINGLE_PRECISION))
    return frozenset(rounded(value) for value in near for rounded in (two_decimals, _whole_minutes))


def number_of(value: Any) -> float | None:
    """Return hours in a request or an answer as a number, or None if they are none."""
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if abs(number) < MOST_HOURS else None


def two_decimals(hours: float) -> Decimal:
    """Round to two decimals as the tracker does: halves of the decimal notation away from zero."""
    return Decimal(str(hours)).quantize(CENT, ROUND_HALF_UP)


def _whole_minutes(hours: float) -> Decimal:
    """Round to whole minutes as the tracker does: halves of the binary product away from zero."""
    return (Decimal(hours * 60).quantize(Decimal(1), ROUND_HALF_UP) / 60).quantize(CENT, ROUND_HALF_UP)
