"""/api/hours: a month's hours in GLPI and in Redmine."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from producer.admin.queries.hours import HoursReport, hours_of
from producer.admin.queries.redmine_hours import MONTH
from producer.console.api.routes import api_router
from producer.console.auth.answers import WithServices

router = api_router("/api/hours", "hours")


@router.get("")
def hours(
    services: WithServices,
    month: Annotated[str, Query(pattern=f"^{MONTH}$", description="The month, such as 2026-11.")],
) -> HoursReport:
    """Compare a month's hours of each person: finished ticket tasks in GLPI with time entries in Redmine."""
    return hours_of(services, month)
