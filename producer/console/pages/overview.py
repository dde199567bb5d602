"""The first page: whether deskbridge works, and what to do if it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fastapi import Request
from starlette.responses import Response

from producer.admin.configuration.connecting import Tested
from producer.admin.doctor.examination import at_a_glance
from producer.admin.doctor.finding import Status
from producer.admin.doctor.installation import Installation
from producer.admin.doctor.latest import found_last
from producer.admin.presenters.healing import is_ours, step
from producer.admin.presenters.moments import lasting
from producer.admin.queries.overview import overview as look
from producer.admin.queries.setting_up import setting_up
from producer.console.auth.answers import WithServices
from producer.console.pages.parts import fixes, page_router, show
from shared.diagnosis.other_workers import other_database
from shared.events.config import HELPDESK_STATUSES
from shared.notices.doctor_service import ServiceFinding

router = page_router()
HOURS = 24


@dataclass(frozen=True, slots=True)
class Attempt:
    """A set-up step that a user tried and that failed.

    Attributes:
        step: name of the step.
        problems: reasons, as sentences.
        typed: typed values, without the key.
        sealed: typed key, encrypted for this address.
        tested: result of the connection test.
    """

    step: str = ""
    problems: Sequence[str] = ()
    typed: Mapping[str, str] = field(default_factory=dict)
    sealed: str = ""
    tested: Tested | None = None


NOTHING_TRIED = Attempt()


@router.get("")
def overview(request: Request, services: WithServices) -> Response:
    """Show the state of the system, and the set-up steps that remain."""
    return show_overview(request, services)


def show_overview(
    request: Request, services: WithServices, *, status: int = 200, attempt: Attempt = NOTHING_TRIED
) -> Response:
    """Return the first page.

    Args:
        request: the browser's request.
        services: the console's collaborators.
        status: HTTP status.
        attempt: set-up step that a user tried and that failed.
    """
    found = look(services)
    hours = [(ago, *found.hours.get(ago, (0, 0))) for ago in reversed(range(HOURS))]
    installation = Installation.of(services)
    installation.redis_facts = found.redis
    notable = at_a_glance(installation, asks_redis=not found.redis.fault, noted=found.noted)
    if not found.redis.fault:
        notable += found_last(services.redis)
    return show(
        request,
        "overview",
        status=status,
        steps=setting_up(services, found),
        attempt=attempt,
        elsewhere=other_database(found.redis),
        names=HELPDESK_STATUSES,
        counts=(found.counts.failed, found.counts.on_hold),
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
