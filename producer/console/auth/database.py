"""The response and the log fields for a failure of the database."""

from __future__ import annotations

from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from producer.admin.presenters.failures import why
from producer.http.problems import Problem
from shared.notices.language import N_, said
from shared.notices.notice import Notice
from shared.telemetry.logs import reason_fields

AGAIN_S = {"Retry-After": "20"}
AGAIN = N_("try again")


def unusable(error: SQLAlchemyError) -> Problem:
    """Return a 503 without the database's address, because the client may not be signed in."""
    code = Notice(why(error).code)
    return Problem(503, N_("Cannot use the database"), said(AGAIN), why=code, headers=AGAIN_S)


def for_the_log(error: SQLAlchemyError) -> dict[str, Any]:
    """Return the log fields of a failure: its code, the driver's exception class, and the server's error state.

    The database's message is left out, because it quotes users' data.
    """
    cause = getattr(error, "orig", None) or error
    state = getattr(cause, "pgcode", None) or getattr(cause, "sqlite_errorname", None)
    return {**reason_fields(Notice(why(error).code)), "error": type(cause).__name__, "state": state}
