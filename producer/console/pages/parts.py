"""What the pages' routes share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from producer.console.auth.rights import allowed
from producer.console.auth.visitors import Fields, fields_of, visiting
from producer.console.rendering.addresses import address, lasting, way_back, with_parameters
from producer.console.rendering.fixing import Fixes
from shared.values.ids import LARGEST

PAGE = 50
"""Rows of a page of a list."""

CSV = "text/csv; charset=utf-8"
Number = Annotated[int, Query(ge=0, le=LARGEST)]
Form = Annotated[Fields, Depends(fields_of)]
Row = TypeVar("Row")


def page_router() -> APIRouter:
    """Return a router whose routes let in only who is signed in and may do it."""
    return APIRouter(
        prefix="/console", include_in_schema=False, dependencies=[Depends(visiting), Depends(allowed)]
    )


def show(request: Request, page: str, /, *, status: int = 200, **values: Any) -> Response:
    """Return a page."""
    response: Response = request.app.state.view.show(request, page, status=status, **values)
    return response


def go(to: str, did: str = "", **more: Any) -> Response:
    """Lead on after something was done, saying what."""
    return RedirectResponse(with_parameters(to, did=did, **more), 303)


def go_back(request: Request, otherwise: str, did: str, **more: Any) -> Response:
    """Lead back to the page that a person came from, else to another one, saying what was done."""
    return go(way_back(request.query_params.get("back")) or otherwise, did, **more)


def download(lines: Iterator[str], name: str, media_type: str = CSV) -> Response:
    """Return a file, sent as it is made.

    Args:
        lines: what is in it.
        name: what the browser calls it.
        media_type: what kind of file it is.
    """
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingResponse(lines, media_type=media_type, headers=headers)


def fixes(request: Request, link: tuple[str, int] | None = None) -> Fixes:
    """Return what finds the page that removes a cause, which leads back to the page that is shown.

    Args:
        request: what asked for the page that names the cause.
        link: the mapping that the causes are about.
    """
    return Fixes(lasting(request.url.path, request.url.query), link)


def newest_first(
    found: Sequence[Row], path: str, place: Callable[[Row], object], **filters: Any
) -> dict[str, Any]:
    """Return what a list's page shows of rows that follow a place, and where the older ones are.

    Args:
        found: a page of rows, and one more if there are older ones.
        path: the page.
        place: returns a row's place, as addresses have it.
        filters: the page's other parameters.
    """
    rows = found[:PAGE]
    older = address(path, **filters, below=place(rows[-1])) if len(found) > PAGE else None
    return {"rows": rows, "older": older}


def leaf(rows: Sequence[Any], after: int, path: str, *, skipped: int = 0, **filters: Any) -> dict[str, Any]:
    """Return what a list's page shows of many rows, and where the pages before and after it are.

    Args:
        rows: all of them; or one more than a page of them, those before them left out.
        after: how many stand on the pages before, as the address says.
        path: the page.
        skipped: how many were left out.
        filters: its other parameters.
    """
    known = skipped + len(rows)
    after = min(max(0, after), known)
    following, before = after + PAGE, max(0, after - PAGE) or None
    return {
        "rows": rows[after - skipped : following - skipped],
        "older": address(path, **filters, after=following) if following < known else None,
        "newer": address(path, **filters, after=before) if after else None,
    }
