"""Every failure of a command as one clear line for a person; never a traceback (CONTRACT "Command line")."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from shared.errors import BridgeError, SettingsError

FAILED = 1
WRONG_USAGE = 2
MIGRATE = "run `deskbridge migrate`"


class WrongUsage(BridgeError):
    """What was typed, or the environment, is not what the command takes."""


def explain(error: BaseException) -> tuple[str, int]:
    """Return what a person should read, and the exit code."""
    if isinstance(error, WrongUsage):
        return str(error), WRONG_USAGE
    if isinstance(error, BridgeError):
        return str(error), FAILED
    if isinstance(error, KeyboardInterrupt):
        return "stopped", FAILED
    return _of_the_database(error) or _of_others(error), FAILED


def wrong_environment(error: SettingsError) -> WrongUsage:
    """Return a fault of the environment as wrong usage."""
    return WrongUsage(str(error))


def _of_the_database(error: BaseException) -> str | None:
    """Explain errors of the database, without its statements and their values."""
    if "sqlalchemy" not in sys.modules:
        return None
    from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, ProgrammingError, SQLAlchemyError

    if not isinstance(error, SQLAlchemyError):
        return None
    cause = _first_line(error.orig if isinstance(error, DBAPIError) and error.orig else error)
    if isinstance(error, IntegrityError):
        return f"somebody else changed the same at the same moment; try again ({cause})"
    if "no such table" in cause or isinstance(error, ProgrammingError):
        return f"the database's tables are not those of this version: {MIGRATE} ({cause})"
    if isinstance(error, OperationalError):
        return f"the database cannot be reached: check that it runs, and DESKBRIDGE_DATABASE_URL ({cause})"
    return f"the database failed: {cause}"


def _of_others(error: BaseException) -> str:
    if "redis" in sys.modules:
        from redis.exceptions import RedisError

        if isinstance(error, RedisError):
            return f"Redis cannot be reached: check that it runs, and DESKBRIDGE_REDIS_URL ({_first_line(error)})"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else _first_line(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return (
        f"a fault in deskbridge itself, please report it: {type(error).__name__}: {_first_line(error)}{where}"
    )


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
