"""Pairs expected with found items, of which several may look equal, in as many pairs as possible."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import TypeVar

Expected = TypeVar("Expected", bound=Hashable)
Found = TypeVar("Found")


def pair(
    expected: Sequence[Expected], found: Sequence[Found], fits: Callable[[Expected, Found], bool]
) -> tuple[dict[Expected, Found], list[Expected], list[Found]]:
    """Pair as many expected items as possible with one found item each, by trying: there are few.

    If not all can be paired, items that come first take precedence.

    Returns:
        The pairs, the expected items without a partner, and the found items without a partner.
    """
    possible = [[number for number, one in enumerate(found) if fits(wanted, one)] for wanted in expected]

    @cache
    def most(index: int, free: frozenset[int]) -> tuple[tuple[int, int], ...]:
        """Return the most pairs between the items from `index` on and the free numbers."""
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
