"""The first page: whether it works, and what to do where it does not."""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from producer.admin.doctor.examination import at_a_glance
from producer.admin.doctor.finding import Status
from producer.admin.doctor.installation import Installation
from producer.admin.doctor.latest import found_last
from producer.admin.presenters.healing import is_ours, step
from producer.admin.presenters.moments import lasting
from producer.admin.queries.overview import overview as look
from producer.console.auth.answers import WithServices
from producer.console.pages.parts import fixes, page_router, show
from shared.notices.doctor_service import ServiceFinding

router = page_router()
HOURS = 24


@router.get("")
def overview(request: Request, services: WithServices) -> Response:
    """Show how everything stands."""
    found = look(services)
    hours = [(ago, *found.hours.get(ago, (0, 0))) for ago in reversed(range(HOURS))]
    notable = at_a_glance(Installation.of(services), asks_redis=found.signs is not None, noted=found.noted)
    if found.signs is not None:
        notable += found_last(services.redis)
    return show(
        request,
        "overview",
        counts=(found.failed, found.held),
        found=found,
        hours=hours,
        most=max([count for _, count, _ in hours] + [1]),
        notable=notable,
        broken=[one for one in notable if one.status is Status.FAILURE],
        is_slow=any(one.found.code == ServiceFinding.CALLS_SLOW for one in notable),
        fix=fixes(request),
        step=step,
        is_ours=is_ours,
        lasting=lasting,
    )
