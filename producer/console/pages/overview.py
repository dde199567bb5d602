"""The first page: whether it works, and what to do if it does not."""

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
from shared.events.config import HELPDESK_STATUSES
from shared.notices.doctor_service import ServiceFinding

router = page_router()
HOURS = 24


@dataclass(frozen=True, slots=True)
class Attempt:
    """A step of the set-up that a person tried and that did not work.

    Attributes:
        step: which.
        problems: why, as sentences.
        typed: what was typed, but for the key.
        sealed: the key that was typed, sealed for this address.
        tested: what a test of the connection found.
    """

    step: str = ""
    problems: Sequence[str] = ()
    typed: Mapping[str, str] = field(default_factory=dict)
    sealed: str = ""
    tested: Tested | None = None


NOTHING_TRIED = Attempt()


@router.get("")
def overview(request: Request, services: WithServices) -> Response:
    """Show how everything stands, and what is still to be set up."""
    return show_overview(request, services)


def show_overview(
    request: Request, services: WithServices, *, status: int = 200, attempt: Attempt = NOTHING_TRIED
) -> Response:
    """Return the first page.

    Args:
        request: what asked for it.
        services: the collaborators.
        status: HTTP status.
        attempt: a step that a person tried and that did not work.
    """
    found = look(services)
    hours = [(ago, *found.hours.get(ago, (0, 0))) for ago in reversed(range(HOURS))]
    notable = at_a_glance(Installation.of(services), asks_redis=found.signs is not None, noted=found.noted)
    if found.signs is not None:
        notable += found_last(services.redis)
    return show(
        request,
        "overview",
        status=status,
        steps=setting_up(services, found),
        attempt=attempt,
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
