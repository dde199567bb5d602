"""Arguments of the form NAME=VALUE."""

from __future__ import annotations

from collections.abc import Sequence

from producer.cli.failures import WrongUsage


def pairs(given: Sequence[str], form: str, command: str) -> dict[str, str]:
    """Split arguments at their first equals sign.

    Args:
        given: the arguments.
        form: what each should look like, such as `KEY=VALUE`.
        command: whose help tells more.

    Raises:
        WrongUsage: one has no equals sign.
    """
    split = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals:
            raise WrongUsage(f"`{name}` is not of the form {form}: see `deskbridge {command} --help`")
        split[name.strip()] = value
    return split
