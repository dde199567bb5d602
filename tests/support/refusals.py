"""Checks of refusals in tests: by code and parameters, independent of the sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from shared.errors import BridgeError
from shared.notices.notice import Code, Notice, to_json


def says(*codes: Code | Notice, **params: Any) -> Callable[[BridgeError], bool]:
    """Return a check for `pytest.raises`: the refusal has the first code, and the others are in its parameters.

    Args:
        codes: the refusal's code, then nested ones; the parameters of a Notice must be among the actual ones.
        params: some of the refusal's parameters, as JSON.
    """

    def check(error: BridgeError) -> bool:
        found = list(_within(error.notice))
        first, *others = [one if isinstance(one, Notice) else one() for one in codes]
        assert _fits(error.notice, Notice(first.code, {**first.params, **params})), error.notice
        assert all(any(_fits(one, wanted) for one in found) for wanted in others), error.notice
        return True

    return check


def _within(value: Any) -> Iterator[Notice]:
    """Yield a Notice and every Notice in its parameters."""
    if isinstance(value, Notice):
        yield value
        value = list(value.params.values())
    for one in value if isinstance(value, list) else ():
        yield from _within(one)


def _fits(found: Notice, wanted: Notice) -> bool:
    """Return whether a Notice has the wanted code, and at least the wanted parameters."""
    shown = to_json(found.params)
    return found.code == wanted.code and all(
        shown.get(name) == value for name, value in to_json(wanted.params).items()
    )
