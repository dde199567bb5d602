"""Security headers of every response of producer and console: they let a browser do nothing with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from producer.http import problems

Answer = Callable[[Request], Awaitable[Response]]

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Strict-Transport-Security is the proxy's: it is the one that speaks TLS."""

RAW = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
OWN_TRACES: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False}
"""Traces and metrics are ours (`shared.telemetry`); FastAPI would look for other instrumentation at each request."""


class ShieldedApp(FastAPI):
    """An application with these headers on every response, even on that to an unforeseen error.

    It never redirects: a redirect would lead to whatever host the request named.

    Args:
        schemas: schemas to which OpenAPI's descriptions of routes refer, by name.
        options: FastAPI's options.
    """

    def __init__(self, *, schemas: Mapping[str, Any] | None = None, **options: Any) -> None:
        super().__init__(
            docs_url=None, redoc_url=None, redirect_slashes=False, telemetry=OWN_TRACES, **options
        )
        self._at_once: dict[tuple[str, str], Answer] = {}
        self._schemas = schemas or {}

    def answer_at_once(self, method: str, path: str, answer: Answer) -> None:
        """Answer requests of a path without the middleware that other requests pass through.

        Args:
            method: the method of the requests.
            path: the path of the requests.
            answer: answers them; the application's handlers answer its exceptions, as for other requests.
        """
        self._at_once[method, path] = answer

    def openapi(self) -> dict[str, Any]:
        """Describe the application, with the schemas that its routes refer to by name."""
        described = super().openapi()
        known = described.setdefault("components", {}).setdefault("schemas", {})
        known.update(problems.schemas_of(problems.ProblemDetails), **self._schemas)
        return described

    def build_middleware_stack(self) -> ASGIApp:
        """Put the shield around everything, even around the handler of unforeseen errors."""
        return Shield(self._answering(super().build_middleware_stack()))

    def _answering(self, layers: ASGIApp) -> ASGIApp:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            answer = self._at_once.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
            if answer is None:
                await layers(scope, receive, send)
                return
            request = Request(scope, receive, send)
            try:
                response = await self._answered(answer, request)
            except Exception as fault:  # noqa: BLE001 (of whatever answers errors)
                response = await self._handled(request, fault)
            await response(scope, receive, send)

        return app

    async def _answered(self, answer: Answer, request: Request) -> Response:
        try:
            return await answer(request)
        except Exception as error:  # noqa: BLE001 (the handlers tell one from another)
            return await self._handled(request, error)

    async def _handled(self, request: Request, error: Exception) -> Response:
        handlers: Mapping[Any, Any] = self.exception_handlers
        handler = next(handlers[kind] for kind in type(error).__mro__ if kind in handlers)
        response: Response = await handler(request, error)
        return response


class Shield:
    """Adds the headers that a response does not have yet.

    Args:
        app: the application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""

        async def shielded(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name for name, _ in message["headers"]}
                message["headers"] += [one for one in RAW if one[0] not in there]
            await send(message)

        await self._app(scope, receive, shielded)
