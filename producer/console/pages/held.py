"""What waits for a decision: what was sent beside what the tracker has."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from starlette.responses import Response

from producer.admin.configuration import configuration
from producer.admin.decisions.candidates import Candidate, candidates_of
from producer.admin.decisions.held import held_page, held_row, resolve
from producer.console.entry.answers import AtDesk, Id
from producer.console.pages.parts import PAGE, Form, Number, go, leaf, page_router, show
from producer.web.problems import Problem
from shared.codes.kinds import Kind
from shared.codes.refusals import Refusal
from shared.errors import BridgeError, NotFound

router = page_router()
PATH = "/console/held"


@router.get("/held")
def held(request: Request, desk: AtDesk, after: Number = 0) -> Response:
    """List what waits for a decision, longest first."""
    rows = held_page(desk.store, limit=PAGE + 1, after=after)
    if after and not rows:
        return go(PATH)
    return show(request, "held", **leaf(rows, after, PATH, skipped=after))


@router.get("/held/{kind}/{key}")
def one(request: Request, desk: AtDesk, kind: Kind, key: Id) -> Response:
    """Show what was sent beside each candidate."""
    return _show(request, desk, kind, key)


@router.post("/held/{kind}/{key}")
def decide(request: Request, desk: AtDesk, kind: Kind, key: Id, form: Form) -> Response:
    """Adopt a candidate, or have it created again."""
    verdict, adopt = form.text("verdict"), form.number("adopt")
    if verdict not in ("adopt", "again"):
        raise Problem(422, "Not valid", why=Refusal.NOTHING_ASKED_FOR())
    if verdict == "adopt" and not adopt:
        return _show(request, desk, kind, key, fault="number", status=422)
    try:
        done = resolve(desk, kind, key, adopt if verdict == "adopt" else None)
    except NotFound:
        return go(PATH, "unchanged")
    except BridgeError as refused:
        return _show(request, desk, kind, key, fault=str(refused), status=409)
    did = "unchecked" if done.unchecked else "adopted" if verdict == "adopt" else "again"
    return go(f"/console/tickets/{done.ticket_id}", did)


def _show(
    request: Request, desk: AtDesk, kind: Kind, key: int, *, fault: str = "", status: int = 200
) -> Response:
    row = held_row(desk.store, kind, key)
    if row is None:
        return go(PATH, "unchanged")
    found, trouble = candidates_of(desk, kind, row)
    return show(
        request,
        "held_one",
        status=status,
        kind=kind,
        row=row,
        sent=_sent(kind, row.body or {}),
        found=found,
        trouble=trouble,
        fault=fault,
        base_url=configuration.current(desk.store).base_url,
        differs=_differs,
    )


def _sent(kind: Kind, body: dict[str, Any]) -> dict[str, Any]:
    sent = body.get("issue" if kind is Kind.TICKET else "time_entry")
    return sent if isinstance(sent, dict) else {}


def _differs(name: str, sent: dict[str, Any], candidate: Candidate) -> bool:
    was, now = sent.get(name), candidate.fields.get(name)
    return str(was or "").strip() != str(now or "").strip() if was is not None else False
