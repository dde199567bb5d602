"""The middleware in front of the whole console: it authenticates requests and limits their bodies.

The API accepts only bearer tokens, so that no other site can use a signed-in browser. The pages accept only the
session cookie, and decide themselves what a visitor who is not signed in sees.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Sequence
from urllib.parse import quote

from pydantic import SecretStr
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from producer.admin.access.accounts import AccountStore
from producer.admin.records.rights import Right
from producer.console.auth import visitors
from producer.console.auth.database import for_the_log, unusable
from producer.console.auth.rights import TICKETS
from producer.console.rendering.languages import COOKIE, Languages
from producer.http.bodies import Bodies, replayed
from producer.http.buckets import Buckets
from producer.http.connections import KNOWN
from producer.http.problems import Problem
from producer.http.sources import source_of
from shared.notices.access import AccessRefusal
from shared.notices.invalid import Invalid
from shared.notices.language import ENGLISH, speaking
from shared.store.configuration.changes import NOBODY, acting
from shared.telemetry.logs import get_logger

log = get_logger("console")
MONITORED = ("/livez", "/readyz", "/metrics")
OPEN = ("/healthz", "/favicon.ico", *MONITORED)
STATIC = f"{visitors.PATH}/static/"
WRONG_TOKENS = 10
"""Wrong tokens from one address before it has to wait …"""

FORGIVEN_PER_S = 1 / 6
"""… and how many of them are forgotten per second: ten a minute."""

SIGNED_IN_S = 300.0
"""Time limit of responses to authenticated clients: dry runs and synchronisations wait for the tracker."""


class Guard:
    """Authenticates requests, and reads bodies only after that; pages get other requests too, without their body.

    Args:
        app: application to protect.
        tokens: tokens with every right (setting CONSOLE_TOKENS; several allow rotation).
        accounts: store of sessions and API tokens.
        languages: languages of the pages.
        wrong: counts the wrong tokens of each address.
        bodies: reads the bodies of requests.
    """

    def __init__(
        self,
        app: ASGIApp,
        tokens: Sequence[SecretStr],
        accounts: AccountStore,
        languages: Languages,
        wrong: Buckets | None = None,
        bodies: Bodies | None = None,
    ) -> None:
        self._app = app
        self._digests = [_digest(token.get_secret_value()) for token in tokens]
        self._accounts, self._languages = accounts, languages
        self._wrong = wrong or Buckets(FORGIVEN_PER_S, WRONG_TOKENS)
        self._bodies = bodies or Bodies()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] != "http" or scope["path"] in OPEN or scope["path"].startswith(STATIC):
            await self._app(scope, receive, send)
            return
        if leads_to := _page_meant(scope):
            await RedirectResponse(leads_to, 308)(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        try:
            if scope["path"] == visitors.PATH or scope["path"].startswith(f"{visitors.PATH}/"):
                state["trouble"] = await self._recognise(scope)
                may_send = "account" in state or scope["path"] == visitors.SIGN_IN
            else:
                await self._admit(scope, Headers(scope=scope))
                may_send = True
            _check_address(scope)
            body = await self._bodies.read(scope, receive) if may_send else b""
        except Problem as problem:
            await problem.response()(scope, receive, send)
            return
        words = ENGLISH
        if scope["path"].startswith((visitors.PATH, f"{TICKETS}/")):  # what people read, not programs
            words = self._languages.chosen(HTTPConnection(scope).cookies.get(COOKIE), Headers(scope=scope))
        with acting(state.get("who", NOBODY)), speaking(words):
            await self._app(scope, replayed(body, receive), send)

    async def _recognise(self, scope: Scope) -> SQLAlchemyError | None:
        """Note the signed-in account, if there is one. Return the error if the database cannot look it up."""
        connection = HTTPConnection(scope)
        session = connection.cookies.get(visitors.cookie_name(connection))
        if not session:
            return None
        try:
            account = await run_in_threadpool(self._accounts.user_of_session, session)
        except SQLAlchemyError as error:
            return error
        if account is not None:
            scope["state"].update(
                {
                    "account": account,
                    "who": account.name,
                    "right": account.right,
                    "form_token": visitors.form_token(session),
                    KNOWN: SIGNED_IN_S,
                }
            )
        return None

    async def _admit(self, scope: Scope, headers: Headers) -> None:
        """Check that a request has a valid token.

        Raises:
            Problem: 401 if it has none; 429 after too many wrong ones from its address; 503 if the database fails.
        """
        client = visitors.client_of(HTTPConnection(scope))
        source = source_of(client)
        # before the comparison: if the right token ended the wait, a guesser would learn that it is right
        if wait := self._wrong.wait(source):
            log.warning("refused: too many wrong tokens", client=client)
            raise Problem(
                429,
                "Too many wrong tokens",
                why=AccessRefusal.TOO_MANY_TOKENS(),
                headers={"Retry-After": str(math.ceil(wait))},
            )
        authorization = headers.get("authorization", "")
        if known := await self._known(authorization):
            name, right = known
            scope.setdefault("state", {}).update(
                {"who": f"API token {name}", "right": right, KNOWN: SIGNED_IN_S}
            )
            return
        if authorization:
            self._wrong.take(source)
        log.warning("refused: no known token", path=scope["path"], client=client)
        raise Problem(
            401,
            "Not signed in",
            why=AccessRefusal.TOKEN_NEEDED(),
            headers={"WWW-Authenticate": 'Bearer realm="deskbridge"'},
        )

    async def _known(self, authorization: str) -> tuple[str, Right] | None:
        """Return a token's name and right, or None. Tokens of the settings are compared in constant time."""
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return None
        digest = _digest(token.strip())
        matches = [hmac.compare_digest(digest, known) for known in self._digests]
        if any(matches):
            return fingerprint(authorization), Right.ADMINISTRATOR
        try:
            return await run_in_threadpool(self._accounts.token_with, token.strip())
        except SQLAlchemyError as error:
            log.error("nobody can tell whose a token is", **for_the_log(error))
            raise unusable(error) from None


def _page_meant(scope: Scope) -> str | None:
    """Return where to redirect: from `/` to the first page, from a trailing slash to the page without it; else None."""
    path: str = scope["path"]
    if scope["method"] not in ("GET", "HEAD"):
        return None
    if path == "/" and not Headers(scope=scope).get("authorization"):
        return visitors.PATH
    if not path.startswith(f"{visitors.PATH}/") or not path.endswith("/"):
        return None
    query = scope.get("query_string", b"").decode("latin-1")
    return quote(path.rstrip("/")) + (f"?{query}" if query else "")


def _check_address(scope: Scope) -> None:
    """Refuse U+0000 in an address: no one types it, and no database stores it.

    Raises:
        Problem: 422 if the address contains it.
    """
    if "\x00" in scope["path"] or b"%00" in scope.get("query_string", b""):
        fault = ("(address)", Invalid.TEXT_NOT_STORABLE())
        raise Problem(422, "Not valid", why=AccessRefusal.REQUEST_NOT_VALID(), faults=[fault])


def fingerprint(authorization: str) -> str:
    """Return a short hash that identifies a token in the audit log without revealing it."""
    return _digest(authorization.partition(" ")[2].strip()).hex()[:8]


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
