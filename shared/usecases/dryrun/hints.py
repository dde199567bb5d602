"""What a refusal means, from the payload and the cache alone: the tracker's texts are in anybody's language."""

from __future__ import annotations

from typing import Any

from shared.templating.operations import Operation
from shared.usecases.dryrun.known import Hint, Known


def hints(operation: Operation, payload: dict[str, Any], known: Known) -> list[Hint]:
    """Return what in a payload the tracker refuses or ignores, as far as the cache can tell."""
    raise NotImplementedError


def explain(operation: Operation, payload: dict[str, Any], known: Known, status: int) -> list[Hint]:
    """Return what explains an answer; guesses, called so, where a refusal stays unexplained."""
    raise NotImplementedError
