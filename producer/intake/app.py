"""The producer: verify, validate, append and commit, notify, answer 202. It has no tracker key."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import math
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from producer.helpdesks.glpi import webhooks as glpi
from producer.helpdesks.port import Unreadable
from producer.http.bodies import LARGEST_BODY, LARGEST_DELIVERY, Bodies
from producer.http.buckets import Buckets
from producer.http.connections import ANSWER_S, KNOWN
from producer.http.problems import Problem
from producer.http.readiness import CachedProbe, told
from producer.http.shield import ShieldedApp
from producer.intake.appender import Appender
from producer.intake.deliveries import MOST_FAULTS, deliveries
from producer.intake.description import DOCUMENTED, schemas
from producer.intake.heartbeat import ProducerHeartbeat
from producer.intake.notifier import Notifier
from producer.intake.private_text import PrivateText
from producer.intake.refused import Refused
from producer.intake.signatures import Verifier
from producer.intake.spool import HEADER, Spools
from shared.errors import BadSignature, SettingsError
from shared.events.config import PrivateTexts
from shared.events.delivery import Delivery
from shared.notices.deliveries import Undelivered
from shared.notices.invalid import faulty
from shared.notices.notice import Notice
from shared.notices.refusals import Refusal
from shared.notices.system_refusals import SystemRefusal
from shared.process.environment import PRODUCER_PORT
from shared.process.settings import Settings
from shared.queue.publisher import Publisher
from shared.redis.installation import Whose
from shared.store.journal.appending import Accepted
from shared.store.opening import Store
from shared.store.tables.database import Database, words_for_the_log
from shared.store.tables.journal import ReconciliationMark
from shared.telemetry import metrics, traceparent, tracing
from shared.telemetry.logs import get_logger, reason_fields

log = get_logger("producer")
RETRY_AFTER_S = 5
LONGEST_PATH = 60
"""How much of an unknown path is kept."""
POOL_SIZE = 10
METRICS_WITHIN_S = 1.0
"""A slow database must not prevent the counters from being read."""
FLOOD_S = 10
"""A source may send the events of this many seconds at once before its limit applies."""
EVENT_BYTES = 16 * 1024
"""Bytes of one event for EVENT_LIMIT; a larger event counts as several."""
ARRAY_BYTES, ARRAYS_AT_ONCE = 64 * 1024, 16
"""Of requests larger than this, which are mostly arrays, this many are parsed at once: in memory, their objects take
many times their size."""


def create_app(settings: Settings, *, host: str = "127.0.0.1", port: int = PRODUCER_PORT) -> FastAPI:
    """Build the producer.

    Args:
        settings: the process's settings.
        host: the address to which it will be bound.
        port: the port to which it will be bound.

    Raises:
        SettingsError: if no signing secret is set, and unsigned events are not allowed on this bind; or a secret is too
            short.
    """
    producer = Producer(settings, host, port)
    app = ShieldedApp(title="deskbridge producer", lifespan=producer.lifespan, schemas=schemas())
    app.add_exception_handler(Problem, producer.refuse)
    app.add_exception_handler(HTTPException, producer.refuse_unknown)
    app.add_exception_handler(RequestValidationError, producer.refuse_unknown)  # of a path's last part
    app.add_exception_handler(Exception, producer.refuse_by_our_fault)
    # it reads and answers by itself, and needs nothing that FastAPI, which describes it, prepares for a route
    app.answer_at_once("POST", "/events", producer.events)
    app.add_api_route("/events", producer.events, methods=["POST"], **DOCUMENTED["events"])
    app.include_router(glpi.webhooks(settings.glpi_webhook_secrets, producer))
    app.add_api_route("/healthz", producer.healthz)
    app.add_api_route("/livez", producer.healthz)
    app.add_api_route("/readyz", producer.readyz, **DOCUMENTED["readyz"])
    app.add_api_route("/metrics", producer.prometheus, **DOCUMENTED["metrics"])
    return app


class Producer:
    """Handlers of the producer's routes, and their collaborators.

    Args:
        settings: the process's settings.
        host: the address to which it will be bound.
        port: the port to which it will be bound.

    Raises:
        SettingsError: as `create_app`.
    """

    def __init__(self, settings: Settings, host: str, port: int) -> None:
        self._verifier = _verifier(settings, host)
        self._store = Store(
            Database(settings.database_url.get_secret_value(), pool_size=POOL_SIZE, prepares=True)
        )
        self._private_text = PrivateText(self._store)
        self._appender = Appender(self._append_and_notify)
        self._publisher = Publisher(settings, Whose(self._store.database))
        self._settings = settings
        self._notifier = Notifier(lambda tickets: self._publisher.notify(tickets, tracing.notified(tickets)))
        self._registry = metrics.registry("producer")
        self._refused, self._spools = Refused(), Spools()
        self._sign = ProducerHeartbeat(self._store, self._refused, self._spools, port)
        self._readiness = CachedProbe(
            {
                "database": lambda: self._store.database.takes_writes(),
                "broker": lambda: self._publisher.is_answering(),
            }
        )
        self._mark = CachedProbe({"mark": self._last_comparison})
        self._bodies = Bodies()
        self._arrays = asyncio.Semaphore(ARRAYS_AT_ONCE)
        limit = settings.event_limit
        self._sources = Buckets(limit, max(FLOOD_S * limit, 1)) if limit else None

    @asynccontextmanager
    async def lifespan(self, _app: FastAPI) -> AsyncIterator[None]:
        """Notify tickets and write heartbeats while the application runs; at its end notify the remaining tickets."""
        tracing.start(self._settings, "producer")
        self._notifier.start()
        self._sign.start()
        yield
        await run_in_threadpool(self._sign.stop)
        self._readiness.close()
        self._mark.close()
        await run_in_threadpool(self._notifier.stop)
        await run_in_threadpool(tracing.stop)
        self._store.database.close()

    async def events(self, request: Request) -> JSONResponse:
        """Accept an event or an array of events; 202 means that all are committed to the journal."""
        headers = _headers(request)
        _expect_json(headers)
        self._bodies.expect(request.scope)
        if self._verifier is not None:
            with _as_problem():
                self._verifier.check_headers(headers)
        body = await read_body(request, self._bodies)
        source = _verify(self._verifier, body, headers)
        request.scope.setdefault("state", {})[KNOWN] = ANSWER_S
        self._refuse_flood(f"secret {source}")
        self._spools.note(source, headers.get(HEADER))
        came_with = traceparent.read(headers.get(traceparent.HEADER))
        with tracing.span("POST /events", "server", came_with) as span:
            return await self._take_in(
                request, headers, body, f"secret {source}", span.traceparent or came_with
            )

    async def _take_in(
        self, request: Request, headers: Mapping[str, str], body: str, source: str, trace: str | None
    ) -> JSONResponse:
        webhook_id = headers.get("webhook-id") or _unsigned_id(body)
        async with self._arrays if len(body) > ARRAY_BYTES else nullcontext():
            if len(body) > EVENT_BYTES:  # a crafted one keeps the parser busy for a second
                delivered = await run_in_threadpool(deliveries, body, webhook_id)
            else:
                delivered = deliveries(body, webhook_id)
            if not delivered:  # the sender tests its address and secret
                return JSONResponse({"accepted": []}, 202)
            if trace:
                delivered = [replace(one, traceparent=trace) for one in delivered]
            accepted = await self._append(delivered)
        if self._sources:
            self._sources.take(source, _weight(len(accepted), len(body)) - 1)
        return JSONResponse(self._accepted(accepted, request), 202)

    async def read(self, request: Request) -> bytes:
        """Read a request's body within its limits (see `producer.helpdesks.port.Intake`)."""
        return await self._bodies.read(request.scope, request.receive, LARGEST_DELIVERY)

    def admit(self, source: str, size: int) -> None:
        """Count a delivery against the limit of its signer (see `producer.helpdesks.port.Intake`)."""
        self._refuse_flood(source, _weight(1, min(size, LARGEST_BODY)))  # most of a larger one is not kept

    async def keep(
        self, delivery: Delivery | Unreadable, request: Request, *, within: float | None = None
    ) -> dict[str, Any]:
        """Commit a help desk's delivery to the journal and notify its ticket (see `producer.helpdesks.port.Intake`)."""
        accepted: list[Accepted] = []
        with tracing.span("webhook", "server") as span:
            try:
                async with asyncio.timeout(within):
                    if isinstance(delivery, Delivery):
                        accepted = await self._append([replace(delivery, traceparent=span.traceparent)])
                    else:
                        await asyncio.to_thread(park, self._store, delivery)
                        metrics.UNREADABLE.labels(source=delivery.source).inc()
            except TimeoutError:
                raise _unwritable("the journal is slow; send it again") from None
            return self._accepted(accepted, request)

    def _append_and_notify(self, delivered: Sequence[Delivery]) -> list[Accepted]:
        """Append to the journal; the committing thread also notifies the tickets, in parallel to the responses."""
        is_asked = any(one.has_private_text for one in delivered)
        private_text = self._private_text.may_be_kept() if is_asked else PrivateTexts.NONE
        accepted = append(self._store, delivered, private_text=private_text)
        traces = {
            one.ticket_id: delivery.traceparent
            for delivery, one in zip(delivered, accepted, strict=True)
            if not one.duplicate
        }
        self._notifier.notify(traces.keys(), traces)
        return accepted

    async def _append(self, delivered: list[Delivery]) -> list[Accepted]:
        """Append to the journal; return once that is committed.

        Raises:
            Problem: 503, if the journal cannot be written; nothing was stored.
        """
        with _as_unwritable():
            accepted = await self._appender.append(delivered)
        for delivery, one in zip(delivered, accepted, strict=True):
            if one.conflicting:
                log.warning(
                    "a delivery id came again with another body; kept as a new event",
                    **_about(delivery, one),
                )
        return accepted

    def _accepted(self, accepted: list[Accepted], request: Request) -> dict[str, Any]:
        """Count the events, and return the answer for the sender."""
        duplicates = sum(one.duplicate for one in accepted)
        metrics.ACCEPTED.inc(len(accepted) - duplicates)
        metrics.DUPLICATES.inc(duplicates)
        self._refused.accepted(_client(request))
        return {"accepted": [_answer(one) for one in accepted]}

    async def healthz(self) -> dict[str, str]:
        """Return 200 if the process is running."""
        return {"status": "ok"}

    async def readyz(self) -> JSONResponse:
        """Return 200 if the journal can be written; the broker is reported, but not required."""
        ready = await self._readiness.look()
        content = told(ready)
        return JSONResponse(content, 200 if ready["database"] else 503)

    async def prometheus(self) -> Response:
        """Return the metrics for Prometheus."""
        with suppress(TimeoutError):
            async with asyncio.timeout(METRICS_WITHIN_S):
                if mark := (await self._mark.look())["mark"]:
                    metrics.MISSED.set(mark.missing)
                    metrics.RECONCILED.set(mark.ran_at.timestamp())
        return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)

    def _last_comparison(self) -> ReconciliationMark | None:
        """Return the result of the last comparison with the help desk, or None, also if the database fails."""
        try:
            with self._store.transaction() as tx:
                return tx.reconciliation.get()
        except SQLAlchemyError:
            return None

    def _refuse_flood(self, source: str, weight: int = 1) -> None:
        """Refuse a source that exceeds its limit, before anything is parsed.

        Args:
            source: the secret that signed the request.
            weight: how many events it counts as, as far as that is known by now.

        Raises:
            Problem: 429, with the seconds to wait, if the limit is reached.
        """
        if self._sources is None:
            return
        if wait := self._sources.wait(source):
            raise Problem(
                429,
                "Too many events",
                "this secret has exceeded its events per second; send them again later",
                why=Undelivered.EVENT_LIMIT_REACHED(),
                headers={"Retry-After": str(math.ceil(wait))},
            )
        self._sources.take(source, weight)

    async def refuse(self, request: Request, problem: Exception) -> Response:
        """Answer a refusal as problem details, and count it."""
        refusal = problem if isinstance(problem, Problem) else Problem(500, "Internal error")
        metrics.REFUSED.labels(status=str(refusal.status)).inc()
        was_delivery = refusal.why is not None or _was_delivery(request, refusal.status)
        refusal.why = why = refusal.why or _reason(request, refusal.status)
        if was_delivery:
            self._refused.note(_client(request), why)
            self._sign.write_now()
        log.warning(
            "refused",
            status=refusal.status,
            title=refusal.title,
            detail=refusal.detail or None,
            code=str(why.code),
        )
        return refusal.response()

    async def refuse_unknown(self, request: Request, error: Exception) -> Response:
        """Answer an unknown path or method in the same form."""
        status = error.status_code if isinstance(error, HTTPException) else 404
        title = str(error.detail) if isinstance(error, HTTPException) else "Not Found"
        headers = error.headers if isinstance(error, HTTPException) else None
        return await self.refuse(request, Problem(status, title, headers=headers))

    async def refuse_by_our_fault(self, request: Request, error: Exception) -> Response:
        """Answer an unforeseen error without its traceback."""
        log.error("a request failed", code=str(Undelivered.PRODUCER_FAILED), exc_info=error)
        return await self.refuse(
            request, Problem(500, "Internal error", "nothing was stored; please report this")
        )


async def read_body(request: Request, bodies: Bodies) -> str:
    """Read a JSON body within its limits.

    Raises:
        Problem: 413 if it is too large, 408 if it is too slow, 400 if it is not UTF-8.
    """
    content = await bodies.read(request.scope, request.receive)
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Problem(400, "Not JSON", "the body is not UTF-8", why=Undelivered.BODY_NOT_JSON()) from None


def append(
    store: Store, delivered: Sequence[Delivery], *, private_text: PrivateTexts = PrivateTexts.NONE
) -> list[Accepted]:
    """Append to the journal and commit (`Journal.append`)."""
    with store.transaction() as tx:
        return tx.journal.append(delivered, datetime.now(UTC), private_text=private_text)


def park(store: Store, unreadable: Unreadable) -> None:
    """Store an unreadable delivery in the journal as `failed`: `event list` shows it, and a replay reads it again.

    Raises:
        Problem: 503, if the journal cannot be written; nothing was stored.
    """
    log.warning(
        "a delivery cannot be read",
        delivery_ids=[unreadable.delivery_id],
        source=unreadable.source,
        **reason_fields(faulty(Refusal.EVENT_NOT_VALID, unreadable.faults[:MOST_FAULTS])),
    )
    with _as_unwritable(), store.transaction() as tx:
        tx.journal.park(
            unreadable.delivery_id, unreadable.source, unreadable.body, unreadable.faults[:MOST_FAULTS]
        )


@contextmanager
def _as_unwritable() -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        log.error("the journal is not writable", error=type(error).__name__, said=words_for_the_log(error))
        raise _unwritable("send it again") from None


def _unwritable(what_to_do: str) -> Problem:
    headers = {"Retry-After": str(RETRY_AFTER_S)}
    why = Undelivered.JOURNAL_DOWN()
    return Problem(503, "The journal is not writable", what_to_do, why=why, headers=headers)


def _client(request: Request) -> str:
    return request.client.host if request.client else ""


def _was_delivery(request: Request, status: int) -> bool:
    """Return whether a refused request may have been a delivery; a read of an unknown path is a stray request."""
    return status not in (404, 405) or request.method in ("POST", "PUT", "PATCH")


def _reason(request: Request, status: int) -> Notice:
    """Return the reason of a refusal that has none: an unknown path, a wrong method, or a fault of ours."""
    path, method = request.url.path[:LONGEST_PATH], request.method
    if status not in (404, 405):
        return Undelivered.PRODUCER_FAILED(status=status)
    return (
        Undelivered.PATH_UNKNOWN(path=path)
        if status == 404
        else Undelivered.METHOD_WRONG(path=path, method=method)
    )


def _verifier(settings: Settings, host: str) -> Verifier | None:
    if settings.webhook_secrets or settings.glpi_webhook_secrets:
        return Verifier(settings.webhook_secrets)
    if not settings.allow_unsigned:
        raise SettingsError(SystemRefusal.WEBHOOK_SECRETS_NOT_SET())
    if not _is_loopback(host):
        raise SettingsError(SystemRefusal.UNSIGNED_NOT_ON_LOOPBACK())
    return None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _headers(request: Request) -> dict[str, str]:
    """Return a request's headers as a dict, for many lookups; of a repeated header the first, as everywhere."""
    raw = reversed(request.scope["headers"])
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in raw}


def _expect_json(headers: Mapping[str, str]) -> None:
    """Check that a body may be JSON.

    Raises:
        Problem: 415, if its media type is another one.
    """
    media_type = headers.get("content-type", "").split(";")[0].strip().lower()
    if media_type != "application/json":
        why = Undelivered.MEDIA_TYPE_WRONG()
        raise Problem(415, "Unsupported media type", "send application/json", why=why)


@contextmanager
def _as_problem() -> Iterator[None]:
    try:
        yield
    except BadSignature as refusal:
        raise Problem(401, "The signature matches no known secret", why=refusal.notice) from None


def _verify(verifier: Verifier | None, body: str, headers: Mapping[str, str]) -> int:
    """Return which secret signed a request; 0 if none is required.

    Raises:
        Problem: 401, if the signature is missing or wrong.
    """
    if verifier is None:
        return 0
    with _as_problem():
        return verifier.verify(body, headers)


def _weight(count: int, size: int) -> int:
    """Return how many events a request counts as: the number in it, or its size in EVENT_BYTES if that is more."""
    return max(count, math.ceil(size / EVENT_BYTES))


def _unsigned_id(body: str) -> str:
    return f"unsigned-{hashlib.sha256(body.encode()).hexdigest()}"


def _about(delivery: Delivery, kept: Accepted) -> dict[str, Any]:
    """Return the fields of a log line about an event, with the names that the worker's log lines use."""
    trace = delivery.traceparent
    return {
        "ticket_id": kept.ticket_id,
        "event_ids": [kept.event_id],
        "keys": [kept.key],
        "delivery_ids": [delivery.delivery_id],
        **({"trace_id": traceparent.trace_id(trace)} if trace else {}),
    }


def _answer(one: Accepted) -> dict[str, Any]:
    return {"event_id": one.event_id, "key": one.key, "duplicate": one.duplicate}
