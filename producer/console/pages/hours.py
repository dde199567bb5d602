"""A month's hours by person: hours in GLPI beside hours logged in Redmine."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from producer.admin.configuration import configuration
from producer.admin.queries.hours import WORDS, differences_csv, hours_csv
from producer.admin.queries.kept_hours import KeptReport
from producer.admin.queries.redmine_hours import READ_S, month_of
from producer.admin.services import Services
from producer.console.auth.answers import WithServices
from producer.console.pages.parts import download, page_router, show
from producer.console.rendering.addresses import address

router = page_router()
PATH = "/console/hours"
SOON_S = 20.0
"""How long a page waits for Redmine."""

SHOWN = 200
"""Maximum number of differences on the page; the CSV has all."""

Month = Annotated[str, Query(max_length=10)]


@router.get("/hours")
async def hours(request: Request, services: WithServices, month: Month = "", anew: str = "") -> Response:
    """Show the hours of a month by person, and where they differ."""
    wanted = _month(month)
    kept = await request.app.state.hours.look(wanted, SOON_S, again=bool(anew))
    return await run_in_threadpool(_page, request, services, wanted, kept)


def _page(request: Request, services: Services, wanted: str, kept: KeptReport) -> Response:
    report = kept.report
    return show(
        request,
        "hours",
        month=wanted,
        report=report,
        made_at=kept.made_at,
        differences=report.differences[:SHOWN],
        why_words=WORDS,
        base_url=configuration.current(services.store).base_url,
        csv=address(f"{PATH}.csv", month=wanted),
        csv_tasks=address(f"{PATH}.csv", month=wanted, tasks="yes"),
    )


@router.get("/hours.csv")
async def export(request: Request, month: Month = "", tasks: str = "") -> Response:
    """Return the hours of a month as CSV: by person, or the ticket tasks whose hours differ."""
    wanted = _month(month)
    report = (await request.app.state.hours.look(wanted, READ_S)).report
    lines = differences_csv(report) if tasks else hours_csv(report)
    return download(lines, f"deskbridge-hours-{wanted}{'-tasks' if tasks else ''}.csv")


def _month(text: str) -> str:
    """Return the month in a parameter of an address, or else the current month."""
    try:
        month_of(text.strip())
    except ValueError:
        return f"{datetime.now(UTC):%Y-%m}"
    return text.strip()
