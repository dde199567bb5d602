"""Who changed what: before, after."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from starlette.responses import Response

from producer.admin.looking.changes import change_of, latest_changes
from producer.console.drawing.view import address
from producer.console.entry.answers import AtDesk, Id
from producer.console.pages.parts import page_router, show
from shared.codes.changes import Did
from shared.values.ids import LARGEST

router = page_router()
PAGE = 50


@router.get("/changes")
def changes(
    request: Request, desk: AtDesk, below: int | None = None, who: str = "", what: str = ""
) -> Response:
    """List changes, newest first."""
    below = min(below, LARGEST) if below is not None else None
    code = what if what in list(Did) else None
    found = latest_changes(desk.store, limit=PAGE + 1, below=below, who=who or None, code=code)
    rows = found[:PAGE]
    older = address("/console/changes", who=who, what=what, below=rows[-1].id) if len(found) > PAGE else None
    return show(
        request,
        "changes",
        rows=rows,
        who=who,
        what=what,
        below=below,
        older=older,
        dids=list(Did),
        diff=_diff,
    )


@router.get("/changes/{change_id}")
def change(request: Request, desk: AtDesk, change_id: Id) -> Response:
    """Show one change; of a replay what became of the events."""
    found, became = change_of(desk.store, change_id)
    return show(request, "change", one=found, became=became, diff=_diff)


def _diff(before: Any, after: Any) -> list[tuple[str, Any, Any]]:
    """Return what differs as (name, before, after)."""
    if isinstance(before, dict) or isinstance(after, dict):
        was = before if isinstance(before, dict) else {}
        now = after if isinstance(after, dict) else {}
        names = dict.fromkeys([*was, *now])
        return [(name, was.get(name), now.get(name)) for name in names if was.get(name) != now.get(name)]
    return [("", before, after)] if before is not None or after is not None else []
