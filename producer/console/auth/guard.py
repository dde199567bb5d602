"""Stands before the whole console: who may come in, and how much they may bring.

The API takes bearer tokens and nothing else: no other site can use a browser that is signed in. The pages take the
session's cookie and nothing else, and say themselves what someone who is not signed in gets to see.
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
"""How long the answer to a signed-in user may take: a dry run and a synchronisation wait for the tracker."""


class Guard:
    """Lets a request through that carries a token or a session; before that nothing of its body is read.

    Args:
        app: what is guarded.
        tokens: the tokens that may do everything (setting CONSOLE_TOKENS; several allow rotation).
        accounts: knows sessions, and the tokens that are kept.
        languages: what the pages can be read in.
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
        """Note who is signed in, if anyone is; return why the database cannot tell, if it cannot."""
        connection = HTTPConnection(scope)
        session = connection.cookies.get(visitors.cookie_name(connection))
        if not session:
            return None
        try:
            account = await run_in_threadpool(self._accounts.whose, session)
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
        """Make sure that a request has a token.

        Raises:
            Problem: 401 it has none; 429 there were too many wrong ones from its address; 503 it is not known.
        """
        client = visitors.client_of(HTTPConnection(scope))
        source = source_of(client)
        # before the comparison: a wait that the right token ended would only tell that it was found
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
        """Return a token's name and what it may do; each of the settings' is compared in the same time."""
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
    """Return the page that is meant by an address of none: the console's first for `/`, else that without a slash."""
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
    """Refuse U+0000 in an address: no one types it, and no text of a database holds it.

    Raises:
        Problem: 422.
    """
    if "\x00" in scope["path"] or b"%00" in scope.get("query_string", b""):
        fault = ("(address)", Invalid.TEXT_NOT_STORABLE())
        raise Problem(422, "Not valid", why=AccessRefusal.REQUEST_NOT_VALID(), faults=[fault])


def fingerprint(authorization: str) -> str:
    """Return what tells one token from another in a history, and gives none away."""
    return _digest(authorization.partition(" ")[2].strip()).hex()[:8]


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
