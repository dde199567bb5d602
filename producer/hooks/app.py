"""The producer: verify, validate, append and commit, ring, 202. It holds no tracker key (DESIGN)."""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from producer.hooks.intake import LARGEST_BODY, deliveries
from producer.hooks.metrics import Metrics
from producer.hooks.problems import Problem
from producer.hooks.ringer import Ringer
from producer.hooks.signatures import Verifier
from shared.broker import Doorbell
from shared.errors import BadSignature, SettingsError
from shared.events import Delivery
from shared.logs import get_logger
from shared.settings import Settings
from shared.store import Store
from shared.store.database import Database
from shared.store.journal import Accepted

log = get_logger("producer")
RETRY_AFTER_S = 5
THREADS = 40


def create_app(settings: Settings, *, host: str = "127.0.0.1") -> FastAPI:
    """Build the producer.

    Args:
        settings: the process's settings.
        host: the address it will be bound to.

    Raises:
        SettingsError: no signing secret is set, and unsigned events are not allowed on this bind.
    """
    verifier = _verifier(settings, host)
    store = Store(Database(settings.database_url.get_secret_value(), pool_size=THREADS // 4))
    doorbell = Doorbell(settings)
    ringer = Ringer(doorbell.ring)
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        ringer.start()
        yield
        await run_in_threadpool(ringer.stop)
        store.database.close()

    app = FastAPI(title="deskbridge producer", docs_url=None, redoc_url=None, lifespan=lifespan)

    @app.exception_handler(Problem)
    async def refuse(_request: Request, problem: Problem) -> JSONResponse:
        metrics.refused(problem.status)
        log.warning("refused", status=problem.status, title=problem.title, detail=problem.detail or None)
        return problem.response()

    @app.exception_handler(HTTPException)
    async def unknown(_request: Request, error: HTTPException) -> JSONResponse:
        headers = dict(error.headers or {})
        return Problem(error.status_code, str(error.detail), headers=headers).response()

    @app.exception_handler(Exception)
    async def failed(_request: Request, error: Exception) -> JSONResponse:
        log.error("a request failed", exc_info=error)
        return Problem(500, "A fault of deskbridge", "nothing was kept; please report it").response()

    @app.post("/events", status_code=202)
    async def events(request: Request) -> JSONResponse:
        """Accept one event or an array of them; 202 means: committed to the journal."""
        body = await read_body(request)
        _verify(verifier, body, request)
        delivered = deliveries(body, request.headers.get("webhook-id") or _unsigned_id(body))
        accepted = await run_in_threadpool(append, store, delivered)
        ringer.ring({one.ticket_id for one in accepted if not one.duplicate})
        metrics.accepted(accepted)
        return JSONResponse({"accepted": [_answer(one) for one in accepted]}, 202)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """The process is up."""
        return {"status": "ok"}

    @app.get("/readyz")
    async def readyz() -> JSONResponse:
        """The journal can be written; the broker is reported, not required."""
        database = await run_in_threadpool(store.database.ping)
        broker = await run_in_threadpool(doorbell.is_answering)
        content = {
            "database": "ok" if database else "unreachable",
            "broker": "ok" if broker else "unreachable",
        }
        return JSONResponse(content, 200 if database else 503)

    @app.get("/metrics")
    async def prometheus() -> Response:
        """Counters for Prometheus."""
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    return app


async def read_body(request: Request) -> str:
    """Read a JSON body within its limit, before anything else looks at it.

    Raises:
        Problem: 415 another content type, 413 too large, 400 not UTF-8.
    """
    media_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if media_type != "application/json":
        raise Problem(415, "Unsupported media type", "send application/json")
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > LARGEST_BODY:
            raise Problem(413, "Too large", f"at most {LARGEST_BODY} bytes; send fewer events at once")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Problem(400, "Not JSON", "the body is not UTF-8") from None


def append(store: Store, delivered: list[Delivery]) -> list[Accepted]:
    """Append to the journal and commit.

    Raises:
        Problem: 503, the journal cannot be written; nothing was kept.
    """
    try:
        with store.transaction() as tx:
            accepted = tx.journal.append(delivered, datetime.now(UTC))
    except SQLAlchemyError as error:
        log.error("the journal cannot be written", error=type(error).__name__)
        raise Problem(
            503, "The journal cannot be written", "send it again", headers={"Retry-After": str(RETRY_AFTER_S)}
        ) from None
    for one in accepted:
        if one.conflicting:
            log.warning(
                "a delivery id came again with another body; kept as a new event", event_id=one.event_id
            )
    return accepted


def _verifier(settings: Settings, host: str) -> Verifier | None:
    if settings.webhook_secrets:
        return Verifier(settings.webhook_secrets)
    if not settings.allow_unsigned:
        raise SettingsError(
            "DESKBRIDGE_WEBHOOK_SECRETS is not set: make a secret with `deskbridge make-secret` and give it to the "
            "helpdesk, too (or DESKBRIDGE_ALLOW_UNSIGNED=1 for a first try on this machine)"
        )
    if not _is_loopback(host):
        raise SettingsError("DESKBRIDGE_ALLOW_UNSIGNED=1 is only accepted on a loopback address")
    return None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _verify(verifier: Verifier | None, body: str, request: Request) -> None:
    if verifier is None:
        return
    try:
        verifier.verify(body, request.headers)
    except BadSignature as refusal:
        raise Problem(401, "Not signed by a known secret", str(refusal)) from None


def _unsigned_id(body: str) -> str:
    return f"unsigned-{hashlib.sha256(body.encode()).hexdigest()}"


def _answer(one: Accepted) -> dict[str, Any]:
    return {"event_id": one.event_id, "key": one.key, "duplicate": one.duplicate}
