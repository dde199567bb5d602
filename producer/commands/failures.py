"""Every failure of a command as a code and one line for a person; never a traceback (CONTRACT "Command line")."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any

import typer

from shared.codes.coded import Coded
from shared.codes.refusals import Refusal
from shared.errors import BridgeError, SettingsError, first_line

FAILED = 1
WRONG_USAGE = 2


class WrongUsage(BridgeError):
    """What was typed, or the environment, is not what the command takes."""

    otherwise = Refusal.WRONG_USAGE


def explain(error: BaseException) -> tuple[Coded, int]:
    """Return what a person should know, and the exit code."""
    if isinstance(error, BridgeError):
        return error.coded, WRONG_USAGE if isinstance(error, WrongUsage) else FAILED
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return Refusal.STOPPED_BY_USER(), FAILED
    if hasattr(error, "format_message"):  # typer's own, of arguments and options
        _reword(error)
        return Refusal.WRONG_USAGE(text=error.format_message()), getattr(error, "exit_code", WRONG_USAGE)
    return _of_the_database(error) or _of_others(error), FAILED


def _reword(error: Any) -> None:
    """Say what was expected of an argument or option in our words, which typer's own display then shows."""
    from pydantic import ValidationError

    from shared.validation import in_words

    if isinstance(error.__cause__, ValidationError):
        (fault, *_) = error.__cause__.errors(include_url=False)
        error.message = in_words(fault)


def wrong_environment(error: SettingsError) -> WrongUsage:
    """Return a fault of the environment as wrong usage."""
    return WrongUsage(str(error))


def _of_the_database(error: BaseException) -> Coded | None:
    """Explain errors of the database, without its statements and their values."""
    if "sqlalchemy" not in sys.modules:
        return None
    from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, ProgrammingError, SQLAlchemyError

    from shared.store.database import is_held_by_others

    if not isinstance(error, SQLAlchemyError):
        return None
    cause = first_line(error.orig if isinstance(error, DBAPIError) and error.orig else error)
    if isinstance(error, IntegrityError):
        return Refusal.DATABASE_CONFLICT(error=cause)
    if "no such table" in cause or isinstance(error, ProgrammingError):
        return Refusal.DATABASE_NOT_MIGRATED(error=cause)
    if is_held_by_others(error):
        return Refusal.DATABASE_HELD(error=cause)
    if isinstance(error, OperationalError):
        return Refusal.DATABASE_DOWN(error=cause)
    return Refusal.DATABASE_FAILED(error=cause)


def _of_others(error: BaseException) -> Coded:
    if "redis" in sys.modules:
        from redis.exceptions import RedisError

        if isinstance(error, RedisError):
            return Refusal.REDIS_DOWN(error=first_line(error))
    if isinstance(error, OSError):
        reason = error.strerror if error.filename and error.strerror else first_line(error)
        return Refusal.FILE_NOT_USABLE(file=error.filename and str(error.filename), error=reason)
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else None
    return Refusal.UNEXPECTED_ERROR(type=type(error).__name__, error=first_line(error), place=place)
