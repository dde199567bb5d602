"""Issues and time entries with a wrong author in Redmine, by person, and the correction of time entries."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from fastapi import Request
from starlette.responses import Response

from producer.admin.configuration import configuration
from producer.admin.people.correction import CorrectionOff, Given, correct_author, correct_authors_of
from producer.admin.people.misattributed import WrongAuthor, by_person, misattributed, of_whose
from producer.console.auth.answers import Id, WithServices
from producer.console.auth.once import FlashMessage, forget, hand_over, handed_over
from producer.console.pages.parts import (
    PAGE,
    Form,
    Number,
    fixes,
    go,
    newest_first,
    page_router,
    paginate,
    show,
)
from producer.http.problems import Problem
from shared.errors import BridgeError
from shared.notices.kinds import Kind
from shared.notices.language import counted
from shared.notices.render import sentence
from shared.store.ledger.misattributed import Place
from shared.values.ids import LARGEST

router = page_router()
PATH = "/console/authors"
REFUSALS = "refusals"
MOST_REASONS = 8
"""Maximum number of refusal reasons that are shown, each with its first ticket tasks."""

MOST_NAMED = 10


@router.get("/authors")
def listed(
    request: Request, services: WithServices, below: str = "", whose: str = "", after: Number = 0
) -> Response:
    """List the people whose work has a wrong author, and the issues and time entries, newest first."""
    told = handed_over(request)
    if told is None or told.kind != REFUSALS:
        return _show(request, services, below=_place(below), whose=whose, after=after)
    response = _show(request, services, whose=whose, refusals=[str(one) for one in json.loads(told.text)])
    forget(request, response, PATH)
    return response


@router.post("/authors")
def give(request: Request, services: WithServices, form: Form) -> Response:
    """Make a person the author of every time entry that was meant for them."""
    try:
        done = correct_authors_of(services.store, services.connector.connect, form.text("whose"))
    except CorrectionOff as refused:
        raise Problem(403, "Not allowed", why=refused.notice) from None
    except BridgeError as refused:
        return _show(request, services, fault=str(refused), status=409)
    response = go(PATH, "not-corrected" if done.refused or done.left else "corrected")
    if done.refused or done.left:
        hand_over(request, response, FlashMessage(REFUSALS, "", json.dumps(_refusals(done))), PATH)
    return response


@router.post("/authors/{task_id}")
def correct(request: Request, services: WithServices, task_id: Id) -> Response:
    """Correct the author of a ticket task's time entry."""
    try:
        correct_author(services.store, services.connector.connect, task_id)
    except CorrectionOff as refused:
        raise Problem(403, "Not allowed", why=refused.notice) from None
    except BridgeError as refused:
        return _show(request, services, fault=str(refused), status=409)
    return go(PATH, "corrected")


def _show(
    request: Request,
    services: WithServices,
    *,
    below: Place | None = None,
    whose: str = "",
    after: int = 0,
    fault: str = "",
    refusals: list[str] | None = None,
    status: int = 200,
) -> Response:
    found = by_person(services.store) if not below else None
    one = next((one for one in found.people if one.key == whose), None) if found and whose else None
    if whose:
        rows = of_whose(services.store, whose, limit=PAGE + 1, after=after)
        shown = paginate(rows, after, PATH, skipped=after, whose=whose)
    else:
        rows = misattributed(services.store, limit=PAGE + 1, below=below)
        shown = {"newer": None, **newest_first(rows, PATH, _named)}
    config = configuration.current(services.store)
    return show(
        request,
        "authors",
        status=status,
        **shown,
        below=below,
        whose=whose,
        people=[one] if one else found.people[:PAGE] if found and not whose else [],
        found=found,
        titles=services.names.titles({one.ticket_id for one in shown["rows"]}),
        base_url=config.base_url,
        correctable=config.correct_authors,
        fault=fault,
        refusals=refusals or [],
        fix=fixes(request),
    )


def _refusals(done: Given) -> list[str]:
    """Return why time entries were not corrected: each reason once, with its ticket tasks."""
    tasks: dict[str, list[int]] = {}
    for task_id, problem in done.refused:
        tasks.setdefault(sentence(problem), []).append(task_id)
    found = [
        counted("Ticket task %(ids)s: %(why)s", "Ticket tasks %(ids)s: %(why)s", len(ids))
        % {
            "ids": ", ".join(map(str, ids[:MOST_NAMED])) + (" …" if len(ids) > MOST_NAMED else ""),
            "why": why[:300],
        }
        for why, ids in list(tasks.items())[:MOST_REASONS]
    ]
    if done.left:
        found.append(
            counted(
                "%(num)d time entry was not tried. Give it to them again.",
                "%(num)d time entries were not tried. Give them again.",
                done.left,
            )
            % {"num": done.left}
        )
    return found


def _named(one: WrongAuthor) -> str:
    """Return a row's position in the list, as a parameter of addresses."""
    return f"{one.since.isoformat()}/{one.kind}/{one.key}"


def _place(text: str) -> Place | None:
    """Return the position in a parameter of an address, or None."""
    since, _, place = text.partition("/")
    kind, _, key = place.partition("/")
    try:
        found = datetime.fromisoformat(since).astimezone(UTC), str(Kind(kind)), int(key)
    except (ValueError, OverflowError):
        return None
    return found if 0 <= found[2] <= LARGEST else None
