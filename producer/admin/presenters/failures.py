"""Explains any failure as a notice, alike for the command line and the API."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from shared.errors import BridgeError, first_line
from shared.notices.notice import Notice
from shared.notices.system_refusals import SystemRefusal


def why(error: BaseException) -> Notice:
    """Return the notice of an error; its parameters may contain locations, which strangers must not see."""
    if isinstance(error, BridgeError):
        return error.notice
    return _of_the_database(error) or _of_others(error)


def _of_the_database(error: BaseException) -> Notice | None:
    """Explain errors of the database, without its statements and their values."""
    if "sqlalchemy" not in sys.modules:
        return None
    from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, SQLAlchemyError

    from shared.store.tables.database import is_held_by_others, is_of_other_tables, is_of_the_statement

    if not isinstance(error, SQLAlchemyError):
        return None
    cause = first_line(error.orig if isinstance(error, DBAPIError) and error.orig else error)
    if isinstance(error, IntegrityError):
        return SystemRefusal.DATABASE_CONFLICT(error=cause)
    if is_of_other_tables(error):
        return SystemRefusal.DATABASE_NOT_MIGRATED(error=cause)
    if is_held_by_others(error):
        return SystemRefusal.DATABASE_HELD(error=cause)
    if isinstance(error, OperationalError) and not is_of_the_statement(error):
        return SystemRefusal.DATABASE_DOWN(error=cause)
    return SystemRefusal.DATABASE_FAILED(error=cause)


def _of_others(error: BaseException) -> Notice:
    if "redis" in sys.modules:
        from redis.exceptions import RedisError

        if isinstance(error, RedisError):
            from shared.diagnosis.redis_health import refusal

            return refusal(error) or SystemRefusal.REDIS_DOWN(error=first_line(error))
    if isinstance(error, OSError):
        reason = error.strerror if error.filename and error.strerror else first_line(error)
        return SystemRefusal.FILE_NOT_USABLE(file=error.filename and str(error.filename), error=reason)
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else None
    return SystemRefusal.UNEXPECTED_ERROR(type=type(error).__name__, error=first_line(error), place=place)
