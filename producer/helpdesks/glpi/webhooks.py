"""The addresses for GLPI's webhooks: /webhooks/glpi/ticket and one for each part of a ticket (`Item`)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from fastapi import APIRouter, Request
from pydantic import SecretStr
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, PlainTextResponse

from producer.helpdesks.glpi.events import Item, read, without_private_text
from producer.helpdesks.glpi.signatures import GlpiVerifier
from producer.helpdesks.port import Intake, Unreadable
from producer.http.bodies import LARGEST_BODY, too_large
from producer.http.problems import Problem, refusals
from shared.errors import BadSignature, InvalidEvent, SettingsError
from shared.events.delivery import Delivery
from shared.notices.system_refusals import SystemRefusal
from shared.store.journal.due import LARGEST_PAYLOAD

ANSWER_WITHIN_S = 1.0
"""GLPI waits for five seconds and then sends again; an endpoint that never answers stops its cron."""
SOURCE = "glpi"
LARGE_AT_ONCE = 2
"""How many large deliveries are parsed at the same time: in memory, their objects take many times their size."""
SHORTEST = 16
"""Minimum bytes of a secret. An attacker who overhears a challenge could guess shorter ones."""


def webhooks(secrets: Sequence[SecretStr], intake: Intake) -> APIRouter:
    """Return the routes; without secrets there are none, so that these addresses answer 404.

    Args:
        secrets: as they are entered in GLPI's webhooks; several during a rotation.
        intake: the producer.

    Raises:
        SettingsError: if a secret is too short.
    """
    router = APIRouter(prefix="/webhooks/glpi", tags=["glpi"])
    if not secrets:
        return router
    if any(len(secret.get_secret_value().encode()) < SHORTEST for secret in secrets):
        raise SettingsError(SystemRefusal.GLPI_SECRET_TOO_SHORT(least=SHORTEST))
    verifier = GlpiVerifier(secrets, time.time)
    large = asyncio.Semaphore(LARGE_AT_ONCE)

    @router.get("/{item}", responses=refusals(401), response_class=PlainTextResponse)
    async def challenge(item: Item, crc_token: str = "") -> PlainTextResponse:  # noqa: ARG001 (the address names it)
        """Answer the challenge with which GLPI checks that deskbridge knows the secret."""
        try:
            return PlainTextResponse(verifier.answer_challenge(crc_token))
        except BadSignature as refusal:
            raise Problem(401, "Not GLPI's challenge", why=refusal.notice) from None

    @router.post("/{item}", status_code=202, responses=refusals(400, 401, 408, 413, 415, 429, 503))
    async def deliver(item: Item, request: Request) -> JSONResponse:
        """Accept a delivery; 202 means that it is committed to the journal, as `failed` if it cannot be read.

        A delivery without effect is also answered with 202, or GLPI would send it again.
        """
        try:
            verifier.check_headers(request.headers)
            body = await intake.read(request)
            secret, delivery_id = verifier.verify(body, request.headers)
        except BadSignature as refusal:
            raise Problem(401, "The signature matches no known secret", why=refusal.notice) from None
        intake.admit(f"{SOURCE} {secret}", len(body))
        delivery: Delivery | Unreadable | None
        if len(body) > LARGEST_BODY:
            async with large:
                delivery = await run_in_threadpool(_read_large, item, body, delivery_id)
        else:
            delivery = read_or_park(item, body, delivery_id)
        if delivery is None:
            return JSONResponse({"accepted": []}, 202)
        return JSONResponse(await intake.keep(delivery, request, within=ANSWER_WITHIN_S), 202)

    return router


def _read_large(item: Item, body: bytes, delivery_id: str) -> Delivery | None:
    """Translate a delivery that is too large to be stored as it is: its texts are shortened.

    Raises:
        Problem: 413, if it is too large even so, or cannot be read.
    """
    delivery = read_or_park(item, body, delivery_id)
    if isinstance(delivery, Unreadable) or (delivery and len(delivery.payload) > LARGEST_PAYLOAD):
        raise too_large()
    return delivery


def read_or_park(item: Item, body: bytes, delivery_id: str) -> Delivery | Unreadable | None:
    """Translate a delivery, or return why it cannot be read; None if nothing follows from it."""
    try:
        return read(item, body, delivery_id)
    except InvalidEvent as invalid:
        body = without_private_text(body)
        return Unreadable(delivery_id, f"{SOURCE}/{item}", body, invalid.faults)
