"""Notifications to people: their addresses, and whether delivery works."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from producer.admin.configuration import notifications
from producer.admin.configuration.notifications import PAGE
from producer.admin.services import Services
from producer.console.auth.answers import WithServices
from producer.console.pages.parts import Form, go, page_router, show
from shared.errors import SettingsError
from shared.notices.render import sentence
from shared.notifications.delivery import FIELD, Delivered
from shared.notifications.notifier import CHECKED_EVERY_S, Notifier
from shared.telemetry.logs import get_logger

router = page_router()
log = get_logger("console")


async def notify_regularly(services: Services) -> None:
    """Send due notifications to people at regular intervals.

    Args:
        services: the console's collaborators.
    """
    notifier = Notifier(services.store, services.redis, services.vault, services.settings)
    while True:
        await asyncio.sleep(CHECKED_EVERY_S)
        try:
            await run_in_threadpool(notifier.run)
        except Exception as error:  # noqa: BLE001 (the next run may succeed; the log says what it was)
            log.warning("notifications were not checked", error=type(error).__name__)


@router.get("/settings/notifications")
def page(request: Request, services: WithServices) -> Response:
    """Show the addresses for notifications."""
    return _show(request, services)


@router.post("/settings/notifications")
def save(request: Request, services: WithServices, form: Form) -> Response:
    """Replace the stored addresses with the typed ones."""
    try:
        notifications.save(services, form.text(FIELD), _address(request))
    except SettingsError as wrong:
        return _show(request, services, wrong=wrong)
    return go(PAGE, "saved")


@router.post("/settings/notifications/test")
def test(request: Request, services: WithServices, form: Form) -> Response:
    """Send a test message to the typed addresses, else to the stored ones."""
    try:
        done = notifications.send_test(services, form.text(FIELD), _address(request))
    except SettingsError as wrong:
        return _show(request, services, wrong=wrong)
    return _show(request, services, typed=form.text(FIELD), done=done)


@router.post("/settings/notifications/remove")
def remove(services: WithServices) -> Response:
    """Remove every address."""
    notifications.remove(services.store)
    return go(PAGE, "not-notified")


def _address(request: Request) -> str:
    """Return the console's address as this browser uses it; only administrators' requests get here."""
    return f"{request.url.scheme}://{request.url.netloc}"


def _show(
    request: Request,
    services: WithServices,
    *,
    wrong: SettingsError | None = None,
    typed: str = "",
    done: Sequence[Delivered] = (),
) -> Response:
    problems = [sentence(problem) for _, problem in wrong.problems] if wrong else []
    return show(
        request,
        "notifications",
        status=422 if wrong else 200,
        found=notifications.show(services),
        quiet_hours=services.settings.quiet_hours,
        problems=problems,
        typed=typed,
        done=done,
    )
