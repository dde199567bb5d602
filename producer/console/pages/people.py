"""User mappings: the tracker user of each help desk user."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from producer.admin.people import people
from producer.admin.queries.events import waiting_tickets
from producer.console.auth.answers import Id, WithServices
from producer.console.pages.parts import PAGE, Form, Number, go, go_back, page_router, paginate, show
from producer.http.problems import Problem
from shared.errors import NotFound
from shared.notices.access import AccessRefusal

router = page_router()
PATH = "/console/people"


@router.get("/people")
def listed(
    request: Request, services: WithServices, find: str = "", only: str = "", after: Number = 0
) -> Response:
    """List help desk users, those without a tracker user first."""
    return _show(request, services, find=find.strip(), only=only, after=after)


@router.get("/people/{helpdesk_user_id}")
def person(request: Request, services: WithServices, helpdesk_user_id: Id) -> Response:
    """Show one help desk user, with the mapping form."""
    return _show(request, services, one=helpdesk_user_id)


@router.post("/people/confirm")
def confirm_all(services: WithServices) -> Response:
    """Confirm every new match by e-mail."""
    people.confirm_matches(services.store, None)
    return go(PATH, "confirmed")


@router.post("/people/{helpdesk_user_id}")
def decide(request: Request, services: WithServices, helpdesk_user_id: Id, form: Form) -> Response:
    """Map a help desk user, remove the mapping, or confirm the match by e-mail."""
    act, one = form.text("act"), helpdesk_user_id if request.query_params.get("back") else None
    try:
        if act == "map":
            chosen = form.number("tracker_user_id")
            if chosen is None:
                return _show(request, services, one=one, faults={helpdesk_user_id: "choose"}, status=422)
            people.map_user(services.store, helpdesk_user_id, chosen)
            sent = waiting_tickets(services.store, helpdesk_user_id)
            return go_back(request, PATH, "mapped", sent=sent or None, of=f"person:{helpdesk_user_id}")
        if act == "unmap":
            people.unmap_user(services.store, helpdesk_user_id)
            return go_back(request, PATH, "unmapped")
        if act == "confirm":
            people.confirm_matches(services.store, [helpdesk_user_id])
            return go_back(request, PATH, "confirmed")
    except NotFound as unknown:
        return _show(request, services, one=one, faults={helpdesk_user_id: str(unknown)}, status=422)
    raise Problem(422, "Not valid", why=AccessRefusal.NOTHING_ASKED_FOR())


def _show(
    request: Request,
    services: WithServices,
    *,
    one: int | None = None,
    find: str = "",
    only: str = "",
    after: int = 0,
    faults: dict[int, str] | None = None,
    status: int = 200,
) -> Response:
    rows, counted = people.user_map_page(services.store, find=find, only=only, limit=PAGE + 1, after=after)
    if one is not None:
        rows, after = [people.mapped_person(services.store, one)], 0
    return show(
        request,
        "people",
        status=status,
        **paginate(rows, after, PATH, skipped=after, find=find, only=only),
        one=one,
        total=counted.total,
        new=counted.new,
        find=find,
        only=only,
        faults=faults or {},
    )
