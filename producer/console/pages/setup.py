"""The set-up steps on the first page: Redmine, settings, metadata, and a test event."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from fastapi import Request
from redis.exceptions import RedisError
from starlette.responses import Response

from producer.admin.configuration import configuration
from producer.admin.configuration.connecting import sealed_key, try_connection, unsealed_key
from producer.admin.configuration.metadata import begin_reading
from producer.admin.samples.events import NoSample, new_event, note_sent
from producer.admin.samples.removal import remove_left_over
from producer.console.auth.answers import WithServices
from producer.console.pages.overview import Attempt, show_overview
from producer.console.pages.parts import Form, go, page_router
from producer.console.pages.settings import SOON_S
from producer.http.sending import NotSent, ProducerClient, ready_event
from shared.errors import SettingsError
from shared.notices.notice import Notice
from shared.notices.refusals import Refusal
from shared.notices.render import sentence
from shared.notices.system_refusals import SystemRefusal
from shared.values.addresses import why_forbidden
from shared.values.ids import read_id

router = page_router()
HOME = "/console"
STEP_OF = {
    "text_formatting": "formatting",
    "default_tracker_id": "defaults",
    "default_activity_id": "defaults",
    "default_role_id": "defaults",
    "task_author": "defaults",
    "status_map": "statuses",
}


@router.post("/setup/redmine")
def redmine(request: Request, services: WithServices, form: Form) -> Response:
    """Test the connection, and save address and key if it works."""
    base_url, typed_key = form.text("base_url"), form.text("api_key")
    sealed = form.text("sealed_key")
    key = typed_key or (unsealed_key(services.vault, base_url, sealed) or "" if sealed else "")
    typed = {"base_url": base_url}
    try:
        wanted = configuration.current(services.store).changed(typed)
        tested = try_connection(services, wanted, key)
        if tested.works:
            configuration.save(services, typed, api_key=key or None)
            return go(HOME, "saved")
        kept = sealed_key(services.vault, wanted.base_url or "", key) if key else ""
    except SettingsError as wrong:
        return _failed(request, services, "redmine", *_problems(wrong), typed=typed)
    attempt = Attempt("redmine", typed=typed, sealed=kept, tested=tested)
    return show_overview(request, services, status=422, attempt=attempt)


@router.post("/setup/settings")
def settings(request: Request, services: WithServices, form: Form) -> Response:
    """Save the settings of a step."""
    typed = {name: form.text(name) for name in STEP_OF if form.has(name)}
    statuses = {read_id(name): read_id(values[-1]) for name, values in form.under("status.").items()}
    if statuses:
        known = {key: value for key, value in statuses.items() if key is not None and value is not None}
        typed["status_map"] = json.dumps(known)
    step = next((STEP_OF[name] for name in typed), "")
    try:
        done = configuration.save(services, typed)
    except SettingsError as wrong:
        return _failed(request, services, step, *_problems(wrong), typed=typed)
    return go(f"{HOME}/settings/statuses", "saved", back=HOME) if done.owed else go(HOME, "saved")


@router.post("/setup/metadata")
def metadata(request: Request, services: WithServices) -> Response:
    """Read Redmine's lists; the step turns green when they are read."""
    result = begin_reading(services, SOON_S)
    if result is None or result.busy:
        return go(HOME, "reading")
    if not result:
        return _failed(request, services, "metadata", str(result.error))
    return go(HOME, "read")


@router.post("/setup/event")
def send_event(request: Request, services: WithServices, form: Form) -> Response:
    """Send a test event to the producer, signed like GLPI's; the step turns green when it has arrived."""
    url = form.text("url")
    try:
        _check(services, url)
        sample = new_event(services.store, None, None)
        secrets = services.settings.webhook_secrets
        sender = ProducerClient(url, secrets[0] if secrets else None, sleep=lambda _: None)
        try:
            sender.send([ready_event(sample.event)])
        finally:
            sender.close()
        note_sent(services.store, sample)
    except (NoSample, NotSent, SettingsError) as failure:
        return _failed(request, services, "event", sentence(failure.notice), typed={"url": url})
    return go(HOME, "test-sent")


@router.post("/setup/event/remove")
def remove_event(request: Request, services: WithServices) -> Response:
    """Remove the test event, with the issue and the time entry that it created."""
    try:
        _, failed = remove_left_over(services)
    except RedisError:
        return _failed(request, services, "event", sentence(SystemRefusal.REDIS_DOWN()))
    if failed:
        return _failed(request, services, "event", *(sentence(one.notice) for one in failed))
    return go(HOME, "test-removed")


def _check(services: WithServices, url: str) -> None:
    """Refuse an address that cannot be a producer's.

    Raises:
        NotSent: if it is not an HTTP address, or a forbidden one such as a cloud's metadata service.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        parts, host = urlsplit(""), ""
    why: Notice | None = None
    if parts.scheme not in ("http", "https") or not host:
        why = Refusal.PRODUCER_UNREACHABLE(url=url, error="not an http:// or https:// address")
    elif not services.settings.allow_link_local:
        why = why_forbidden(host)
    if why:
        raise NotSent(why)


def _problems(wrong: SettingsError) -> list[str]:
    return [sentence(problem) for _, problem in wrong.problems]


def _failed(
    request: Request,
    services: WithServices,
    step: str,
    *problems: str,
    typed: dict[str, str] | None = None,
) -> Response:
    attempt = Attempt(step, problems, typed or {})
    return show_overview(request, services, status=422, attempt=attempt)
