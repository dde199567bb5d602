"""What the pages' routes share."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import RedirectResponse, Response

from producer.console.rights import allowed
from producer.console.visitors import Fields, fields_of, visiting

Form = Annotated[Fields, Depends(fields_of)]


def page_router() -> APIRouter:
    """Return a router whose routes let in only who is signed in and may do it."""
    return APIRouter(
        prefix="/console", include_in_schema=False, dependencies=[Depends(visiting), Depends(allowed)]
    )


def show(request: Request, page: str, /, *, status: int = 200, **values: Any) -> Response:
    """Return a page."""
    response: Response = request.app.state.view.show(request, page, status=status, **values)
    return response


def go(address: str, did: str = "") -> Response:
    """Lead on after something was done, saying what."""
    if did:
        path, hash_, fragment = address.partition("#")
        address = f"{path}{'&' if '?' in path else '?'}did={did}{hash_}{fragment}"
    return RedirectResponse(address, 303)
