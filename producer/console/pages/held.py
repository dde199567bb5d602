"""Creations on hold: the request that was sent beside the candidates in the tracker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Request
from starlette.responses import Response

from producer.admin.configuration import configuration
from producer.admin.configuration.metadata import names
from producer.admin.people.people import logins_of
from producer.admin.review.candidates import Candidate, candidates_of, known_candidates, sent_fields
from producer.admin.review.held import page_on_hold, resolve, row_on_hold
from producer.admin.services import Services
from producer.console.auth.answers import Id, WithServices
from producer.console.pages.parts import PAGE, Form, Number, go, page_router, paginate, show
from producer.console.rendering.addresses import address
from producer.http.problems import Problem
from shared.errors import BridgeError, NotFound
from shared.notices.access import AccessRefusal
from shared.notices.kinds import Kind
from shared.notices.language import N_
from shared.store.configuration.metadata import MetadataKind
from shared.values.ids import read_id

router = page_router()
PATH = "/console/held"
FIELDS = {
    "project_id": N_("project"),
    "tracker_id": N_("issue type"),
    "status_id": N_("status"),
    "priority_id": N_("priority"),
    "category_id": N_("category"),
    "activity_id": N_("activity"),
    "assigned_to_id": N_("assignee"),
    "user_id": N_("user"),
    "issue_id": N_("issue"),
    "subject": N_("subject"),
    "description": N_("description"),
    "hours": N_("hours"),
    "comments": N_("comment"),
    "spent_on": N_("day"),
    "notes": N_("note"),
    "private_notes": N_("private"),
    "filename": N_("file"),
    "filesize": N_("size"),
}
"""Labels of the fields of a request body."""

KINDS = {
    "project_id": MetadataKind.PROJECT,
    "tracker_id": MetadataKind.ISSUE_TYPE,
    "status_id": MetadataKind.STATUS,
    "priority_id": MetadataKind.PRIORITY,
    "category_id": MetadataKind.CATEGORY,
    "activity_id": MetadataKind.ACTIVITY,
}
PEOPLE = ("assigned_to_id", "user_id")


@router.get("/held")
def held(request: Request, services: WithServices, after: Number = 0) -> Response:
    """List the creations that wait for a decision, longest wait first."""
    rows = page_on_hold(services.store, limit=PAGE + 1, after=after)
    if after and not rows:
        return go(PATH)
    titles = services.names.titles({row.ticket_id for _, row in rows})
    return show(request, "held", **paginate(rows, after, PATH, skipped=after), titles=titles)


@router.get("/held/{kind}/{key}")
def one(request: Request, services: WithServices, kind: Kind, key: Id) -> Response:
    """Show the request beside each candidate, and beside the object whose number a user typed."""
    typed = request.query_params.get("number")
    number = read_id((typed or "").strip().removeprefix("#")) or None
    is_wrong = typed is not None and number is None
    return _show(
        request,
        services,
        kind,
        key,
        number=number,
        fault="number" if is_wrong else "",
        status=422 if is_wrong else 200,
    )


@router.post("/held/{kind}/{key}")
def decide(request: Request, services: WithServices, kind: Kind, key: Id, form: Form) -> Response:
    """Adopt the object that was compared, or have it created again."""
    verdict, adopt = form.text("verdict"), form.number("adopt")
    if verdict not in ("adopt", "again"):
        raise Problem(422, "Not valid", why=AccessRefusal.NOTHING_ASKED_FOR())
    if verdict == "adopt" and not adopt:
        return _show(request, services, kind, key, fault="number", status=422)
    if verdict == "adopt" and form.number("seen") != adopt:
        row = row_on_hold(services.store, kind, key)
        if row is not None and adopt not in known_candidates(row):
            return go(address(f"{PATH}/{kind}/{key}", number=adopt))  # the user has not compared it yet
    try:
        done = resolve(services, kind, key, adopt if verdict == "adopt" else None, is_sure=form.has("sure"))
    except NotFound:
        return go(PATH, "unchanged")
    except BridgeError as refused:
        return _show(request, services, kind, key, number=adopt, fault=str(refused), status=409)
    did = "unchecked" if done.unchecked else "adopted" if verdict == "adopt" else "again"
    return go(f"/console/tickets/{done.ticket_id}", did)


def _show(
    request: Request,
    services: WithServices,
    kind: Kind,
    key: int,
    *,
    number: int | None = None,
    fault: str = "",
    status: int = 200,
) -> Response:
    row = row_on_hold(services.store, kind, key)
    if row is None:
        return go(PATH, "unchanged")
    found, trouble = candidates_of(services, kind, row, [number] if number else ())
    sent = sent_fields(kind, row.body or {})
    return show(
        request,
        "held_one",
        status=status,
        kind=kind,
        row=row,
        sent=sent,
        found=found,
        known=known_candidates(row),
        number=number,
        trouble=trouble,
        fault=fault,
        base_url=configuration.current(services.store).base_url,
        differs=_differs,
        labels=FIELDS,
        called=_names(services, [sent, *(one.fields for one in found)]),
    )


def _differs(name: str, sent: dict[str, Any], candidate: Candidate) -> bool:
    was, now = sent.get(name), candidate.fields.get(name)
    return str(was or "").strip() != str(now or "").strip() if was is not None else False


def _names(services: Services, several: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int], str]:
    """Return the names of the objects whose ids are in the fields, by field and id."""
    ids = defaultdict[str, set[int]](set)
    for fields in several:
        for name, value in fields.items():
            if isinstance(value, int):
                ids[name].add(value)
    found = {}
    for name in (one for one in (*KINDS, *PEOPLE) if one in ids):
        known = (
            logins_of(services.store, ids[name])
            if name in PEOPLE
            else names(services.store, KINDS[name], ids[name])
        )
        found.update({(name, id): text for id, text in known.items()})
    return found
