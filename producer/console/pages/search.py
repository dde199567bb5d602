"""What the fields search in: tracker projects, users and categories by name, a few at a time."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from starlette.responses import JSONResponse

from producer.admin.configuration.metadata import find_categories, find_projects
from producer.admin.people.people import find_tracker_users
from producer.console.drawing.view import plain
from producer.console.entry.answers import AtDesk
from producer.console.pages.parts import page_router
from shared.values.ids import LARGEST

router = page_router()
MOST = 20
Text = Annotated[str, Query(max_length=200)]


@router.get("/search/projects")
def projects(desk: AtDesk, q: Text = "") -> JSONResponse:
    """Find active tracker projects by name, identifier or number."""
    rows = [
        {
            "id": one.tracker_id,
            "name": plain(one.name),
            "more": " · ".join(plain(part) for part in (one.details.get("identifier"), above) if part),
        }
        for one, above in find_projects(desk.store, q.strip(), MOST)
    ]
    return JSONResponse(rows, headers={"Cache-Control": "no-store"})


@router.get("/search/categories")
def categories(
    desk: AtDesk, q: Text = "", project: Annotated[int, Query(ge=0, le=LARGEST)] = 0
) -> JSONResponse:
    """Find the issue categories of a tracker project."""
    found = find_categories(desk.store, q.strip(), MOST, project)
    return JSONResponse([{"id": one.tracker_id, "name": plain(one.name)} for one in found])


@router.get("/search/users")
def users(desk: AtDesk, q: Text = "") -> JSONResponse:
    """Find tracker users by login, name or address."""
    found = find_tracker_users(desk.store, q.strip(), MOST)
    return JSONResponse(
        [{"id": one.tracker_user_id, "name": plain(one.login), "more": plain(one.name)} for one in found]
    )
