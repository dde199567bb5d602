"""Turns failures of requests into RFC 9457 problem details, without tracebacks or secrets."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from producer.admin.presenters.failures import why
from producer.admin.projects.project_forms import FormRefused
from producer.admin.projects.projects import ProjectInDoubt
from producer.admin.projects.requests import LinkRefused
from producer.admin.templates.templates import TemplateRefused
from producer.console.auth.database import AGAIN, AGAIN_S, for_the_log, unusable
from producer.console.auth.visitors import PATH, SignInNeeded
from producer.console.pages.sign_in import sign_in_needed
from producer.http.problems import Problem
from shared.bodies.contexts import NoContext
from shared.errors import BridgeError, LockBusy, NotFound, SettingsError, TemplateError, TrackerError
from shared.notices.access import AccessRefusal
from shared.notices.language import N_, said
from shared.notices.notice import Notice, written
from shared.notices.render import sentence
from shared.notices.system_refusals import SystemRefusal
from shared.telemetry.logs import get_logger, reason_fields
from shared.values.validation import expected, path_of

log = get_logger("console")
OF_STATUS = {
    400: (N_("Bad Request"), AccessRefusal.BODY_UNREADABLE),
    404: ("Not found", AccessRefusal.ADDRESS_UNKNOWN),
    405: (N_("Method Not Allowed"), AccessRefusal.METHOD_NOT_POSSIBLE),
}


def register(app: FastAPI) -> None:
    """Register the handler that answers every failure as a problem."""
    for kind in (
        Problem,
        SignInNeeded,
        BridgeError,
        RequestValidationError,
        HTTPException,
        SQLAlchemyError,
        RedisError,
        Exception,
    ):
        app.add_exception_handler(kind, _answer)


def problem_of(error: Exception) -> Problem:
    """Return the problem that the client receives for a failure."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, RequestValidationError):
        faults = [(path_of(one["loc"][1:]) or str(one["loc"][0]), expected(one)) for one in error.errors()]
        return Problem(422, "Not valid", why=AccessRefusal.REQUEST_NOT_VALID(), faults=faults)
    if isinstance(error, HTTPException):
        status = error.status_code
        told = OF_STATUS.get(status)
        because = told[1]() if told else AccessRefusal.REQUEST_REFUSED(status=status)
        return Problem(status, told[0] if told else str(error.detail), why=because, headers=error.headers)
    if isinstance(error, BridgeError):
        return _of_ours(error)
    if isinstance(error, SQLAlchemyError):
        return unusable(error)
    if isinstance(error, RedisError):  # its address is not for the client, as with the database
        code = Notice(why(error).code)
        return Problem(503, N_("Cannot reach Redis"), said(AGAIN), why=code, headers=AGAIN_S)
    told_to = said("please report it; the log has the details")
    return Problem(500, N_("Internal error"), told_to, why=SystemRefusal.UNEXPECTED_ERROR())


def _of_ours(error: BridgeError) -> Problem:
    problem = _kind_of(error)
    problem.why, problem.faults = error.notice, problem.faults or tuple(error.faults)
    return problem


def _kind_of(error: BridgeError) -> Problem:
    if isinstance(error, FormRefused):
        return Problem(422, "Not valid", sentence(AccessRefusal.REQUEST_NOT_VALID()))
    if isinstance(error, TemplateError):
        place = {"line": error.line, "column": error.column}
        faults = [("body", error.problem)]
        return Problem(422, N_("The template is faulty"), faults=faults, members=place)
    if isinstance(error, TemplateRefused):
        return Problem(422 if error.faults else 409, N_("Not possible"))
    if isinstance(error, (LinkRefused, NoContext)):
        return Problem(422, "Not valid")
    if isinstance(error, NotFound):
        return Problem(404, "Not found")
    if isinstance(error, ProjectInDoubt):
        return Problem(503, N_("No clear answer from Redmine"), headers=AGAIN_S)
    if isinstance(error, LockBusy):
        return Problem(409, N_("Conflict: another run is in progress"), headers={"Retry-After": "5"})
    if isinstance(error, TrackerError):
        faults = [("tracker", written(one)) for one in error.errors]
        return Problem(502, N_("Redmine failed"), faults=faults)
    if isinstance(error, SettingsError):
        return Problem(409, N_("Not connected"))
    return Problem(409, N_("Not possible"))


async def _answer(request: Request, error: Exception) -> Response:
    if isinstance(error, SignInNeeded):
        trouble: SQLAlchemyError | None = getattr(request.state, "trouble", None)
        if trouble is None:
            return sign_in_needed(request)
        error = trouble
    problem = problem_of(error)
    if problem.status >= 500:
        fault = error if problem.status == 500 else None
        cause = _for_the_log(error, problem)
        log.error("a request failed", path=request.url.path, title=problem.title, **cause, exc_info=fault)
    if request.url.path.startswith(PATH):
        return await _page(request, problem)
    return problem.response()


def _for_the_log(error: Exception, problem: Problem) -> dict[str, Any]:
    """Return log fields with the cause of a failure, in more detail than the client receives.

    For an internal error the traceback shows the cause.
    """
    if isinstance(error, SQLAlchemyError):
        return for_the_log(error)
    if isinstance(error, (BridgeError, RedisError)):
        return reason_fields(why(error))
    return reason_fields(problem.why) if problem.why else {}


async def _page(request: Request, problem: Problem) -> Response:
    """Return a failure as a page, which presents a 503 as temporary."""
    passes = problem.status == 503
    is_down = problem.why is not None and problem.why.code == SystemRefusal.DATABASE_DOWN
    receives = (
        passes
        and not is_down
        and await run_in_threadpool(request.app.state.services.store.database.takes_writes)
    )
    response: Response = request.app.state.view.show(
        request, "problem", status=problem.status, problem=problem, passes=passes, receives=receives
    )
    response.headers.update(problem.headers)
    return response
