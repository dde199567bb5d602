"""Helpers that the pages' routes share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from producer.console.auth.rights import allowed
from producer.console.auth.visitors import Fields, fields_of, require_session
from producer.console.rendering.addresses import address, lasting, way_back, with_parameters
from producer.console.rendering.fixing import Fixes
from shared.values.ids import LARGEST

PAGE = 50
"""Rows per page of a list."""

CSV = "text/csv; charset=utf-8"
Number = Annotated[int, Query(ge=0, le=LARGEST)]
Form = Annotated[Fields, Depends(fields_of)]
Row = TypeVar("Row")


def page_router() -> APIRouter:
    """Return a router whose routes require a signed-in user with the route's right."""
    return APIRouter(
        prefix="/console", include_in_schema=False, dependencies=[Depends(require_session), Depends(allowed)]
    )


def show(request: Request, page: str, /, *, status: int = 200, **values: Any) -> Response:
    """Return a page."""
    response: Response = request.app.state.view.show(request, page, status=status, **values)
    return response


def go(to: str, did: str = "", **more: Any) -> Response:
    """Redirect after an action, and name the action in the address."""
    return RedirectResponse(with_parameters(to, did=did, **more), 303)


def go_back(request: Request, otherwise: str, did: str, **more: Any) -> Response:
    """Redirect to the page that the user came from, or else to another, and name the action."""
    return go(way_back(request.query_params.get("back")) or otherwise, did, **more)


def download(lines: Iterator[str], name: str, media_type: str = CSV) -> Response:
    """Stream a file while it is generated.

    Args:
        lines: its content.
        name: file name for the browser.
        media_type: its media type.
    """
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingResponse(lines, media_type=media_type, headers=headers)


def fixes(request: Request, link: tuple[str, int] | None = None) -> Fixes:
    """Return a finder of the pages that remove causes; they return the user to the current page.

    Args:
        request: request for the page that shows the causes.
        link: mapping that the causes refer to.
    """
    return Fixes(lasting(request.url.path, request.url.query), link)


def newest_first(
    found: Sequence[Row], path: str, place: Callable[[Row], object], **filters: Any
) -> dict[str, Any]:
    """Return the rows of a list's page, and the address of the older ones.

    Args:
        found: rows of a page, plus one if there are older ones.
        path: the page.
        place: returns a row's position, as a parameter of addresses.
        filters: the page's other parameters.
    """
    rows = found[:PAGE]
    older = address(path, **filters, below=place(rows[-1])) if len(found) > PAGE else None
    return {"rows": rows, "older": older}


def paginate(
    rows: Sequence[Any], after: int, path: str, *, skipped: int = 0, **filters: Any
) -> dict[str, Any]:
    """Return the rows of a list's page, and the addresses of the pages before and after it.

    Args:
        rows: all rows; or only those from this page on, one more than fit on it.
        after: number of rows on the pages before, from the address.
        path: the page.
        skipped: number of rows left out before `rows`.
        filters: the page's other parameters.
    """
    known = skipped + len(rows)
    after = min(max(0, after), known)
    following, before = after + PAGE, max(0, after - PAGE) or None
    return {
        "rows": rows[after - skipped : following - skipped],
        "older": address(path, **filters, after=following) if following < known else None,
        "newer": address(path, **filters, after=before) if after else None,
    }
