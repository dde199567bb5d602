"""Pairs what was expected with what was found, where several may be alike (a maximum matching)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

Expected = TypeVar("Expected", bound=Hashable)
Found = TypeVar("Found")


def pair(
    expected: Sequence[Expected], found: Sequence[Found], fits: Callable[[Expected, Found], bool]
) -> tuple[dict[Expected, Found], list[Expected], list[Found]]:
    """Give as many of the expected as possible one of the found each.

    Returns:
        The pairs, what was expected and has none, and what was found and belongs to none.
    """
    taken: dict[int, int] = {}  # index in found -> index in expected

    def place(index: int, tried: set[int]) -> bool:
        for number, one in enumerate(found):
            if number in tried or not fits(expected[index], one):
                continue
            tried.add(number)
            if number not in taken or place(taken[number], tried):
                taken[number] = index
                return True
        return False

    for index in range(len(expected)):
        place(index, set())
    pairs = {expected[index]: found[number] for number, index in taken.items()}
    missing = [one for one in expected if one not in pairs]
    return pairs, missing, [one for number, one in enumerate(found) if number not in taken]
