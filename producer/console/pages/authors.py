"""What has another author on the tracker than was meant, and how hours are given to the right person."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import Request
from starlette.responses import Response

from producer.admin.configuration import configuration
from producer.admin.people.correction import correct_author
from producer.admin.people.misattributed import WrongAuthor, misattributed
from producer.admin.people.people import logins_of
from producer.console.auth.answers import Id, WithServices
from producer.console.pages.parts import PAGE, fixes, go, newest_first, page_router, show
from producer.http.problems import Problem
from shared.errors import BridgeError
from shared.notices.access import AccessRefusal
from shared.notices.kinds import Kind
from shared.store.ledger.misattributed import Place
from shared.values.ids import LARGEST

router = page_router()
PATH = "/console/authors"


@router.get("/authors")
def listed(request: Request, services: WithServices, below: str = "") -> Response:
    """List it, the newest first."""
    return _show(request, services, below=_place(below))


@router.post("/authors/{task_id}")
def correct(request: Request, services: WithServices, task_id: Id) -> Response:
    """Give a ticket task's hours to whom they were meant for."""
    if not services.settings.correct_authors:
        raise Problem(403, "Not allowed", why=AccessRefusal.AUTHORS_NOT_CORRECTED_HERE())
    try:
        correct_author(services.store, services.connector.connect, task_id)
    except BridgeError as refused:
        return _show(request, services, fault=str(refused), status=409)
    return go(PATH, "corrected")


def _show(
    request: Request,
    services: WithServices,
    *,
    below: Place | None = None,
    fault: str = "",
    status: int = 200,
) -> Response:
    found = misattributed(services.store, limit=PAGE + 1, below=below)
    shown = newest_first(found, PATH, _named)
    return show(
        request,
        "authors",
        status=status,
        **shown,
        below=below,
        names=logins_of(services.store, [one.author_id for one in shown["rows"] if one.author_id]),
        base_url=configuration.current(services.store).base_url,
        correctable=services.settings.correct_authors,
        fault=fault,
        fix=fixes(request),
    )


def _named(one: WrongAuthor) -> str:
    """Return a row's place in the list, as addresses have it."""
    return f"{one.since.isoformat()}/{one.kind}/{one.key}"


def _place(text: str) -> Place | None:
    """Return the place that an address names; None where it names none."""
    since, _, place = text.partition("/")
    kind, _, key = place.partition("/")
    try:
        found = datetime.fromisoformat(since).astimezone(UTC), str(Kind(kind)), int(key)
    except (ValueError, OverflowError):
        return None
    return found if 0 <= found[2] <= LARGEST else None
