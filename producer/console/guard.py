"""Stands before the whole console: who may come in, and how much they may bring."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Sequence

from pydantic import SecretStr
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from producer.web.bodies import Bodies, replayed
from producer.web.buckets import Buckets
from producer.web.connections import KNOWN
from producer.web.problems import Problem
from producer.web.sources import source_of
from shared.logs import get_logger

log = get_logger("console")
OPEN = ("/healthz",)
WRONG_TOKENS = 10
"""Wrong tokens from one address before it has to wait …"""

FORGIVEN_PER_S = 1 / 6
"""… and how many of them are forgotten per second: ten a minute."""

SIGNED_IN_S = 300.0
"""How long the answer to somebody who is signed in may take: a dry run and a synchronisation wait for the tracker."""


class Guard:
    """Lets a request through that carries one of the bearer tokens; before that nothing of its body is read.

    Nothing else signs anybody in, cookies least of all, so no other site can use a browser that is signed in.

    Args:
        app: what is guarded.
        tokens: the tokens that are accepted (setting CONSOLE_TOKENS; several allow rotation).
        wrong: counts the wrong tokens of each address.
        bodies: reads the bodies of requests.
    """

    def __init__(
        self,
        app: ASGIApp,
        tokens: Sequence[SecretStr],
        wrong: Buckets | None = None,
        bodies: Bodies | None = None,
    ) -> None:
        self._app = app
        self._digests = [_digest(token.get_secret_value()) for token in tokens]
        self._wrong = wrong or Buckets(FORGIVEN_PER_S, WRONG_TOKENS)
        self._bodies = bodies or Bodies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] != "http" or scope["path"] in OPEN:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            self._admit(scope, headers)
            body = await self._bodies.read(scope, receive)
        except Problem as problem:
            await problem.response()(scope, receive, send)
            return
        await self._app(scope, replayed(body, receive), send)

    def _admit(self, scope: Scope, headers: Headers) -> None:
        """Make sure that a request has a token.

        Raises:
            Problem: 401 it has none; 429 there were too many wrong ones from its address.
        """
        client = (scope.get("client") or ("unknown",))[0]
        source = source_of(client)
        # before the comparison: a wait that the right token ended would only tell that it was found
        if wait := self._wrong.wait(source):
            log.warning("refused: too many wrong tokens", client=client)
            raise Problem(
                429,
                "Too many wrong tokens",
                "wait before you try again",
                headers={"Retry-After": str(math.ceil(wait))},
            )
        authorization = headers.get("authorization", "")
        if self._is_known(authorization):
            who = f"API token {fingerprint(authorization)}"
            scope.setdefault("state", {}).update({"who": who, KNOWN: SIGNED_IN_S})
            return
        if authorization:
            self._wrong.take(source)
        log.warning("refused: no known token", path=scope["path"], client=client)
        raise Problem(
            401,
            "Not signed in",
            "send `Authorization: Bearer TOKEN` with one of DESKBRIDGE_CONSOLE_TOKENS",
            headers={"WWW-Authenticate": 'Bearer realm="deskbridge"'},
        )

    def _is_known(self, authorization: str) -> bool:
        """Compare with every token, each in the same time whatever it is."""
        scheme, _, token = authorization.partition(" ")
        digest = _digest(token.strip())
        matches = [hmac.compare_digest(digest, known) for known in self._digests]
        return scheme.lower() == "bearer" and any(matches)


def fingerprint(authorization: str) -> str:
    """Return what tells one token from another in a history, and gives none away."""
    return _digest(authorization.partition(" ")[2].strip()).hex()[:8]


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
