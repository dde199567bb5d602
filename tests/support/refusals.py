"""What a test expects of a refusal: its code and parameters, whatever its sentence says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from shared.errors import BridgeError
from shared.notices.notice import Code, Notice, to_json


def says(*codes: Code | Notice, **params: Any) -> Callable[[BridgeError], bool]:
    """Return a check for `pytest.raises`: the refusal's code is the first, the others are within its parameters.

    Args:
        codes: the refusal's code, then those that explain it; of one with parameters these are among its own.
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
    """Yield a Notice and every one within its parameters."""
    if isinstance(value, Notice):
        yield value
        value = list(value.params.values())
    for one in value if isinstance(value, list) else ():
        yield from _within(one)


def _fits(found: Notice, wanted: Notice) -> bool:
    """Return whether a Notice has the wanted code, and among its parameters the wanted ones."""
    shown = to_json(found.params)
    return found.code == wanted.code and all(
        shown.get(name) == value for name, value in to_json(wanted.params).items()
    )
