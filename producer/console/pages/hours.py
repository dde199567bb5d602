"""The hours of a month by person: known from GLPI beside logged in Redmine."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response, StreamingResponse

from producer.admin.configuration import configuration
from producer.admin.queries.hours import WORDS, HoursReport, differences_csv, hours_csv, hours_of
from producer.admin.queries.redmine_hours import month_of
from producer.console.auth.answers import WithServices
from producer.console.pages.parts import page_router, show
from producer.console.rendering.addresses import address

router = page_router()
PATH = "/console/hours"
SOON_S = 20.0
"""So long a page waits for Redmine."""

SHOWN = 200
"""So many differences a page shows; the CSV has all."""

Month = Annotated[str, Query(max_length=10)]


@router.get("/hours")
def hours(request: Request, services: WithServices, month: Month = "", anew: str = "") -> Response:
    """Show the hours of a month by person, and where they differ."""
    wanted, kept = _month(month), request.app.state.hours
    report, made_at = kept.of(wanted, SOON_S, anew=bool(anew))
    return show(
        request,
        "hours",
        month=wanted,
        report=report,
        made_at=made_at,
        differences=report.differences[:SHOWN],
        why_words=WORDS,
        base_url=configuration.current(services.store).base_url,
        csv=address(f"{PATH}.csv", month=wanted),
        csv_tasks=address(f"{PATH}.csv", month=wanted, tasks="yes"),
    )


@router.get("/hours.csv")
def export(services: WithServices, month: Month = "", tasks: str = "") -> Response:
    """Return the hours of a month as CSV: by person, or the ticket tasks whose hours differ."""
    wanted = _month(month)
    lines: Iterator[str] = _lines(hours_of(services, wanted), tasks=bool(tasks))
    name = f"deskbridge-hours-{wanted}{'-tasks' if tasks else ''}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)


def _lines(report: HoursReport, *, tasks: bool) -> Iterator[str]:
    return differences_csv(report) if tasks else hours_csv(report)


def _month(text: str) -> str:
    """Return a month that an address names; the current one if it names none."""
    try:
        month_of(text.strip())
    except ValueError:
        return f"{datetime.now(UTC):%Y-%m}"
    return text.strip()
