"""Turns what was typed into what commands need: NAME=VALUE arguments, and requests filled in from options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from producer.cli.failures import WrongUsage
from shared.notices.render import sentence
from shared.values.validation import model_faults

Request = TypeVar("Request", bound=BaseModel)


def filled(request: type[Request], **options: Any) -> Request:
    """Fill in a request from options.

    Raises:
        WrongUsage: if the request does not accept the value of an option.
    """
    try:
        return request.model_validate(options)
    except ValidationError as error:
        name, problem = model_faults(error)[0]
        raise WrongUsage(f"--{name} {options[name]}: {sentence(problem)}") from None


def pairs(given: Sequence[str], form: str, command: str) -> dict[str, str]:
    """Split arguments at their first equals sign.

    Args:
        given: the arguments.
        form: the expected form, such as `KEY=VALUE`.
        command: the command whose help explains it.

    Raises:
        WrongUsage: if an argument has no equals sign.
    """
    split = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals:
            raise WrongUsage(f"`{name}` is not of the form {form}: see `deskbridge {command} --help`")
        split[name.strip()] = value
    return split
