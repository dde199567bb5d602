"""What a test expects of a refusal: its code and parameters, whatever its sentence says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shared.codes.coded import Code, codes_in, to_json
from shared.errors import BridgeError


def says(*codes: Code, **params: Any) -> Callable[[BridgeError], bool]:
    """Return a check for `pytest.raises`: the refusal's code is the first, the others are within its parameters.

    Args:
        codes: the refusal's code, then those that explain it.
        params: some of its parameters, as JSON.
    """

    def check(error: BridgeError) -> bool:
        found, shown = list(codes_in(error.coded)), to_json(error.coded.params)
        assert found[0] == codes[0], error.coded
        assert {*codes} <= {*found}, error.coded
        assert {name: shown.get(name) for name in params} == params, error.coded
        return True

    return check
