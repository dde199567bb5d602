"""Every failure of a command as a code and one line for a person; never a traceback."""

from __future__ import annotations

from typing import Any

import typer

from producer.admin.presenters.failures import why
from shared.errors import BridgeError
from shared.notices.notice import Notice
from shared.notices.system_refusals import SystemRefusal

FAILED = 1
WRONG_USAGE = 2


class WrongUsage(BridgeError):
    """The command does not accept the arguments, or the environment.

    Args:
        told: what is wrong; a text if only this command can report it.
    """

    def __init__(self, told: Notice | str) -> None:
        super().__init__(told if isinstance(told, Notice) else SystemRefusal.WRONG_USAGE(text=told))


def explain(error: BaseException) -> tuple[Notice, int]:
    """Return what a person should know, and the exit code."""
    if isinstance(error, WrongUsage):
        return error.notice, WRONG_USAGE
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return SystemRefusal.STOPPED_BY_USER(), FAILED
    if hasattr(error, "format_message"):  # typer's own, of arguments and options
        _reword(error)
        return SystemRefusal.WRONG_USAGE(text=error.format_message()), getattr(
            error, "exit_code", WRONG_USAGE
        )
    return why(error), FAILED


def _reword(error: Any) -> None:
    """Replace an error's text about an argument or option by our words, which typer then displays."""
    from pydantic import ValidationError

    from shared.notices.render import sentence
    from shared.values.validation import expected

    if isinstance(error.__cause__, ValidationError):
        (fault, *_) = error.__cause__.errors(include_url=False)
        told = fault.get("ctx", {}).get("error")  # typer's own: it names the choices
        error.message = str(told) if type(told) is ValueError else sentence(expected(fault))
