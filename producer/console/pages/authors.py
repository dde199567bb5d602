"""What has another author on the tracker than was meant, and how hours are given to the right person."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from producer.admin.correction import correct_author
from producer.admin.misattributed import misattributed
from producer.console.answers import AtDesk, Id
from producer.console.fixing import fix
from producer.console.pages.parts import go, leaf, page_router, show
from producer.web.problems import Problem
from shared.errors import BridgeError

router = page_router()
PATH = "/console/authors"


@router.get("/authors")
def listed(request: Request, desk: AtDesk, after: int = 0) -> Response:
    """List it, the newest first."""
    return _show(request, desk, after=after)


@router.post("/authors/{task_id}")
def correct(request: Request, desk: AtDesk, task_id: Id) -> Response:
    """Give a ticket task's hours to whom they were meant for."""
    if not desk.settings.correct_authors:
        raise Problem(
            403, "Not allowed", "authors are changed only where DESKBRIDGE_CORRECT_AUTHORS=1 is set"
        )
    try:
        correct_author(desk.store, desk.connector.connect, task_id)
    except BridgeError as refused:
        return _show(request, desk, fault=str(refused), status=409)
    return go(PATH, "corrected")


def _show(request: Request, desk: AtDesk, *, after: int = 0, fault: str = "", status: int = 200) -> Response:
    shown = leaf(misattributed(desk.store), after, PATH)
    with desk.store.transaction() as tx:
        names = tx.people.named(one.author_id for one in shown["rows"] if one.author_id)
        base_url = tx.configs.get()[0].base_url
    return show(
        request,
        "authors",
        status=status,
        **shown,
        names=names,
        base_url=base_url,
        correctable=desk.settings.correct_authors,
        fault=fault,
        fix=fix,
    )
