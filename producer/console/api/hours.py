"""/api/hours: a month's hours in GLPI and in Redmine."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from producer.admin.queries.hours import HoursReport
from producer.admin.queries.redmine_hours import MONTH, READ_S
from producer.console.api.routes import api_router

as_json = TypeAdapter(HoursReport).dump_json
router = api_router("/api/hours", "hours")


@router.get("", response_model=HoursReport)
async def hours(
    request: Request,
    month: Annotated[str, Query(pattern=f"^{MONTH}$", description="The month, such as 2026-11.")],
) -> Response:
    """Compare a month's hours of each person: finished ticket tasks in GLPI with time entries in Redmine.

    A report that took long is kept for five minutes.
    """
    report = (await request.app.state.hours.look(month, READ_S)).report
    return Response(await run_in_threadpool(as_json, report), media_type="application/json")
