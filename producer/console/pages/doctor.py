"""The doctor's check results, and the knowledge articles that explain them."""

from __future__ import annotations

import asyncio

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from producer.admin.doctor.finding import CheckResult, Status
from producer.admin.doctor.installation import Installation
from producer.admin.doctor.latest import examined
from producer.admin.knowledge.shipped import shipped
from producer.admin.services import Services
from producer.console.pages.parts import fixes, page_router, show
from producer.console.rendering.markdown import as_html
from producer.http.readiness import CachedProbe
from shared.telemetry.logs import get_logger

router = page_router()
log = get_logger("console")
EXAMINED_EVERY_S = 300.0
"""Interval of the console's own checks, whose results the first page and monitors show."""
KEPT_S = 10.0
"""How long results are reused: the checks take seconds and call the tracker."""


def examinations(services: Services) -> CachedProbe[list[CheckResult]]:
    """Return the runner of the checks: one run at a time, however many load the page, in its own thread."""
    return CachedProbe({"found": lambda: examined(Installation.of(services))}, KEPT_S)


async def examine_regularly(examinations: CachedProbe[list[CheckResult]]) -> None:
    """Run the checks at regular intervals.

    Args:
        examinations: runner of the checks.
    """
    while True:
        await asyncio.sleep(EXAMINED_EVERY_S)
        try:
            await examinations.look()
        except Exception as error:  # noqa: BLE001 (the next time it may go well; what it is, is for the log)
            log.warning("the installation could not be examined", error=type(error).__name__)


@router.get("/doctor")
async def doctor(request: Request) -> Response:
    """Run every check and show the results; this calls the tracker, so it may take some seconds."""
    examined: CachedProbe[list[CheckResult]] = request.app.state.examinations
    found = (await examined.look())["found"]
    wrong = {status: [one for one in found if one.status is status] for status in Status}
    return await run_in_threadpool(
        show, request, "doctor", wrong=wrong, Status=Status, fix=fixes(request), kept=KEPT_S
    )


@router.get("/knowledge/{record_id}")
def knowledge(request: Request, record_id: str) -> Response:
    """Show a knowledge article."""
    record = shipped(record_id)
    return show(request, "knowledge", record=record, body=as_html(record.body))
