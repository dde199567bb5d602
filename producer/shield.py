"""What every answer of producer and console has in common: headers that let a browser do nothing with it."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Strict-Transport-Security is the proxy's: it is the one that speaks TLS."""


class ShieldedApp(FastAPI):
    """An application with those headers on every answer, that of its last resort included.

    It redirects nobody: a redirect would lead to whatever host the request named.
    """

    def __init__(self, *, title: str, **options: object) -> None:
        super().__init__(title=title, docs_url=None, redoc_url=None, redirect_slashes=False, **options)  # type: ignore[arg-type]

    def build_middleware_stack(self) -> ASGIApp:
        """Put the shield around everything, around what catches unforeseen errors, too."""
        return Shield(super().build_middleware_stack())


class Shield:
    """Adds the headers that an answer does not have yet.

    Args:
        app: what answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""

        async def shielded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, shielded)
