"""Pairs what was expected with what was found, where several may be alike: as many pairs as there can be."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import TypeVar

Expected = TypeVar("Expected", bound=Hashable)
Found = TypeVar("Found")


def pair(
    expected: Sequence[Expected], found: Sequence[Found], fits: Callable[[Expected, Found], bool]
) -> tuple[dict[Expected, Found], list[Expected], list[Found]]:
    """Give as many of the expected as possible one of the found each, by trying: there are few.

    Where not all can have one, those that are named first go before the others.

    Returns:
        The pairs, what was expected and has none, and what was found and belongs to none.
    """
    possible = [[number for number, one in enumerate(found) if fits(wanted, one)] for wanted in expected]

    @cache
    def most(index: int, free: frozenset[int]) -> tuple[tuple[int, int], ...]:
        """Return the most pairs of those from `index` on with what is free."""
        best: tuple[tuple[int, int], ...] = ()
        for number in (*possible[index], None) if index < len(possible) else ():
            rest = free - {number}
            if number is None or number in free:
                own = () if number is None else ((index, number),)
                best = max(best, own + most(index + 1, frozenset(rest)), key=len)
            if len(best) == len(possible) - index:
                break
        return best

    chosen = dict(most(0, frozenset(range(len(found)))))
    taken = set(chosen.values())
    return (
        {expected[index]: found[number] for index, number in chosen.items()},
        [wanted for index, wanted in enumerate(expected) if index not in chosen],
        [one for number, one in enumerate(found) if number not in taken],
    )
