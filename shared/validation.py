"""What every validated input has in common: the type of ids, and how pydantic's faults are worded."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, ValidationError

from shared.ids import LARGEST

Id = Annotated[int, Field(ge=1, le=LARGEST)]


def model_faults(error: ValidationError) -> list[tuple[str, str]]:
    """Return (path, what was expected) for each fault; never the value, which may be a secret."""
    return [(path_of(fault["loc"]), in_words(fault["msg"])) for fault in error.errors(include_url=False)]


def path_of(location: tuple[int | str, ...]) -> str:
    """Return where a fault is: `ticket.id`, `tags.0`."""
    return ".".join(map(str, location))


def in_words(message: str) -> str:
    """Return a message of pydantic's as this program words it."""
    return (
        message.removeprefix("Value error, ")
        .replace("Field required", "required")
        .replace("a valid string", "text")
        .replace("a valid dictionary", "an object")
        .replace("a valid list", "a list")
        .replace("a valid integer", "an integer")
        .replace("a valid number", "a number")
        .replace("a valid boolean", "true or false")
        .replace("Input should be", "expected")
        .replace("Input should", "should")
    )
