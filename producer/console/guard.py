"""Stands before the whole console: who may come in, and how much they may bring."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from pydantic import SecretStr
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from producer.problems import Problem
from shared.logs import get_logger

log = get_logger("console")
LARGEST_BODY = 1024 * 1024
OPEN = ("/healthz",)


class Guard:
    """Lets a request through that carries one of the bearer tokens; before that nothing of its body is read.

    Args:
        app: what is guarded.
        tokens: the tokens that are accepted (setting CONSOLE_TOKENS; several allow rotation).
    """

    def __init__(self, app: ASGIApp, tokens: Sequence[SecretStr]) -> None:
        self._app = app
        self._digests = [_digest(token.get_secret_value()) for token in tokens]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] != "http" or scope["path"] in OPEN:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if not self._is_known(headers.get("authorization", "")):
            client = scope.get("client") or ("unknown",)
            log.warning("refused: no known token", path=scope["path"], client=client[0])
            problem = Problem(
                401,
                "Not signed in",
                "send `Authorization: Bearer TOKEN` with one of DESKBRIDGE_CONSOLE_TOKENS",
                headers={"WWW-Authenticate": 'Bearer realm="deskbridge"'},
            )
            await problem.response()(scope, receive, send)
            return
        if int(_number(headers.get("content-length"))) > LARGEST_BODY:
            await _too_large().response()(scope, receive, send)
            return
        scope.setdefault("state", {})["who"] = f"API token {fingerprint(headers['authorization'])}"
        await self._app(scope, _bounded(receive), send)

    def _is_known(self, authorization: str) -> bool:
        """Compare with every token, each in the same time whatever it is."""
        scheme, _, token = authorization.partition(" ")
        digest = _digest(token.strip())
        matches = [hmac.compare_digest(digest, known) for known in self._digests]
        return scheme.lower() == "bearer" and any(matches)


def fingerprint(authorization: str) -> str:
    """Return what tells one token from another in a history, and gives none away."""
    return _digest(authorization.partition(" ")[2].strip()).hex()[:8]


def _bounded(receive: Receive) -> Receive:
    """Return a `receive` that stops a body which grows beyond its limit, whatever its header said."""
    received = 0

    async def bounded() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > LARGEST_BODY:
            raise _too_large()
        return message

    return bounded


def _too_large() -> Problem:
    return Problem(413, "Too large", f"at most {LARGEST_BODY} bytes")


def _number(text: str | None) -> str:
    return text if text and text.isascii() and text.isdigit() and len(text) < 19 else "0"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
