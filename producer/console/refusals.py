"""Every failure of a request as RFC 9457 problem details, without a traceback and without a secret."""

from __future__ import annotations

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from producer.admin.project_forms import FormRefused
from producer.admin.projects import ProjectInDoubt
from producer.admin.shapes import coded_json
from producer.admin.templates import TemplateRefused
from producer.console.pages.sign_in import sign_in_needed
from producer.console.visitors import PATH, SignInNeeded
from producer.web import problems
from producer.web.problems import Problem
from shared.bodies.contexts import NoContext
from shared.errors import BridgeError, LockBusy, NotFound, SettingsError, TemplateError, TrackerError
from shared.logs import get_logger
from shared.validation import in_words, path_of

log = get_logger("console")
AGAIN_S = {"Retry-After": "20"}
EVERYWHERE = problems.refusals(400, 401, 403, 408, 409, 413, 422, 429, 503)
"""Refusals that any route may answer; those of single routes are named there."""


def register(app: FastAPI) -> None:
    """Have every failure answered as a problem."""
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
    """Return what a failure means to whoever asked."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, RequestValidationError):
        faults = [(path_of(one["loc"][1:]) or str(one["loc"][0]), in_words(one)) for one in error.errors()]
        return Problem(422, "Not valid", "fix the named fields", faults=faults)
    if isinstance(error, HTTPException) and error.status_code == 404:
        return Problem(404, "Not found", "there is nothing at this address", headers=error.headers)
    if isinstance(error, HTTPException):
        return Problem(error.status_code, str(error.detail), headers=error.headers)
    if isinstance(error, BridgeError):
        problem = _of_ours(error)
        problem.members |= coded_json(error.coded)
        return problem
    if isinstance(error, SQLAlchemyError):
        return Problem(503, "The database cannot be used", "try again", headers=AGAIN_S)
    if isinstance(error, RedisError):
        return Problem(503, "Redis cannot be reached", "try again", headers=AGAIN_S)
    return Problem(500, "Internal error", "please report it; the log has the details")


def _of_ours(error: BridgeError) -> Problem:
    if isinstance(error, FormRefused):
        return Problem(422, "Not valid", "fix the named fields", faults=error.faults)
    if isinstance(error, TemplateError):
        place = {"line": error.line, "column": error.column}
        return Problem(
            422, "The template is faulty", str(error), faults=[("body", error.message)], members=place
        )
    if isinstance(error, TemplateRefused):
        faults = [(error.field, error.problem)] if error.field else ()
        return Problem(422 if error.field else 409, "Not possible", str(error), faults=faults)
    if isinstance(error, NoContext):
        return Problem(422, "Not valid", str(error))
    if isinstance(error, NotFound):
        return Problem(404, "Not found", str(error))
    if isinstance(error, ProjectInDoubt):
        return Problem(503, "No clear answer from the tracker", str(error), headers=AGAIN_S)
    if isinstance(error, LockBusy):
        return Problem(409, "Conflict: another run is in progress", str(error), headers={"Retry-After": "5"})
    if isinstance(error, TrackerError):
        return Problem(
            502, "The tracker failed", str(error), faults=[("tracker", one) for one in error.errors]
        )
    if isinstance(error, SettingsError):
        return Problem(409, "Not set up", str(error))
    return Problem(409, "Not possible", str(error))


async def _answer(request: Request, error: Exception) -> Response:
    if isinstance(error, SignInNeeded):
        if getattr(request.state, "trouble", False):
            error = Problem(503, "The database cannot be used", "try again", headers=AGAIN_S)
        else:
            return sign_in_needed(request)
    problem = problem_of(error)
    if problem.status >= 500:
        fault = error if problem.status == 500 else None
        log.error("a request failed", path=request.url.path, title=problem.title, exc_info=fault)
    if request.url.path.startswith(PATH):
        return _page(request, problem)
    return problem.response()


def _page(request: Request, problem: Problem) -> Response:
    """Return a failure as a page; one that passes asks for itself again."""
    response: Response = request.app.state.view.show(
        request, "problem", status=problem.status, problem=problem, passes=problem.status == 503
    )
    response.headers.update(problem.headers)
    return response
