"""Paging and access, common to all lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from deploy.sandbox.tracker import answers, fields
from deploy.sandbox.tracker import permissions as may
from deploy.sandbox.tracker.answers import Answer
from deploy.sandbox.tracker.calls import Call

DEFAULT_PAGE, LARGEST_PAGE = 25, 100


def page(call: Call, name: str, rows: Sequence[Any], show: Callable[[Any], object]) -> Answer:
    """Return one page of a list, with total_count, offset and limit."""
    limit = min(fields.whole(call.query.get("limit")) or DEFAULT_PAGE, LARGEST_PAGE)
    offset = fields.whole(call.query.get("offset"))
    if offset is None:
        offset = (max(fields.whole(call.query.get("page")) or 1, 1) - 1) * limit
    shown = [show(row) for row in rows[offset : offset + limit]]
    return answers.ok({name: shown, "total_count": len(rows), "offset": offset, "limit": limit})


def require_reader(call: Call) -> None:
    """Refuse an anonymous caller if the settings require a login."""
    if call.tracker.settings.login_required and may.is_anonymous(call.user):
        raise call.forbidden()
