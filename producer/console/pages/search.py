"""The search on every page, and the search in form fields for tracker projects, users and categories."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import JSONResponse, Response

from producer.admin.configuration.metadata import find_categories, find_projects
from producer.admin.people.people import find_tracker_users
from producer.admin.queries.searching import Found, search
from producer.console.auth.answers import WithServices
from producer.console.pages.parts import go, page_router, show
from producer.console.rendering.addresses import address
from producer.console.rendering.view import plain
from shared.values.ids import LARGEST

router = page_router()
MOST = 20
Text = Annotated[str, Query(max_length=200)]


@router.get("/search")
def search_page(
    request: Request, services: WithServices, q: Text = "", in_all: Annotated[str, Query(alias="all")] = ""
) -> Response:
    """Search for the typed text, and redirect to the hit if there is only one."""
    text = q.strip()
    found = search(services.store, text, in_all=bool(in_all)) if text else Found()
    hits = [
        *(f"/console/tickets/{number}" for number in [*(one for one, _ in found.tickets), *found.issues]),
        *(address("/console/events", event=number) for number in found.events),
        *(address("/console/events", person=one.helpdesk_user_id) for one in found.people),
        *(address("/console/events", person=name) for name in found.names),
    ]
    if len(set(hits)) == 1:
        return go(hits[0])
    return show(request, "search", status=200 if hits else 404, found=found, asked=text, is_empty=not hits)


@router.get("/search/projects")
def projects(services: WithServices, q: Text = "") -> JSONResponse:
    """Find active tracker projects by name, identifier or number."""
    rows = [
        {
            "id": one.tracker_id,
            "name": plain(one.name),
            "more": " · ".join(plain(part) for part in (one.details.get("identifier"), above) if part),
        }
        for one, above in find_projects(services.store, q.strip(), MOST)
    ]
    return JSONResponse(rows, headers={"Cache-Control": "no-store"})


@router.get("/search/categories")
def categories(
    services: WithServices, q: Text = "", project: Annotated[int, Query(ge=0, le=LARGEST)] = 0
) -> JSONResponse:
    """Find the issue categories of a tracker project."""
    found = find_categories(services.store, q.strip(), MOST, project)
    return JSONResponse([{"id": one.tracker_id, "name": plain(one.name)} for one in found])


@router.get("/search/users")
def users(services: WithServices, q: Text = "") -> JSONResponse:
    """Find tracker users by login, name or address."""
    found = find_tracker_users(services.store, q.strip(), MOST)
    return JSONResponse(
        [{"id": one.tracker_user_id, "name": plain(one.login), "more": plain(one.name)} for one in found]
    )
