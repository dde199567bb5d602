"""What is answered if the database fails, and what the log says of it."""

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
    """Return the answer, without the database's address: the client may be a stranger, so only the log contains it."""
    code = Notice(why(error).code)
    return Problem(503, N_("Cannot use the database"), said(AGAIN), why=code, headers=AGAIN_S)


def for_the_log(error: SQLAlchemyError) -> dict[str, Any]:
    """Return what the log says of it: its code, the driver's kind of error, and the state that the server names.

    No word of the database's own: it quotes what people wrote.
    """
    cause = getattr(error, "orig", None) or error
    state = getattr(cause, "pgcode", None) or getattr(cause, "sqlite_errorname", None)
    return {**reason_fields(Notice(why(error).code)), "error": type(cause).__name__, "state": state}
