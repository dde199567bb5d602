"""A small OpenID provider: it signs in whomever a test names, correctly or with the fault that a test asks for."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import FastAPI, Request
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from starlette.concurrency import run_in_threadpool
from starlette.middleware.base import RequestResponseEndpoint
from starlette.responses import JSONResponse, RedirectResponse, Response

CLIENT_ID, CLIENT_SECRET = "deskbridge", "the secret/of the+client"
Claims = dict[str, Any]


@cache
def key_of(_whom: str) -> RSAKey:
    """Make a key; all tests share one per name, since generating it can take a second."""
    return RSAKey.generate_key(2048, {"kid": "one"})


class Provider:
    """An OpenID provider that keeps everything in memory.

    Args:
        issuer: returns its address once it is served.

    Attributes:
        person: claims about the person, in addition to those that every ID token has.
        change: changes an ID token's claims before they are signed.
        metadata: what replaces parts of the discovery document.
        instead: answers that replace the normal ones, by path.
        sign: signs the claims; None uses the provider's own key.
        used: the codes that were exchanged for tokens.
        asked_for: the requested paths.
        before_token: called before it issues a token.
    """

    def __init__(self, issuer: Callable[[], str]) -> None:
        self._issuer = issuer
        self._key = key_of("the provider")
        self._asked: dict[str, dict[str, str]] = {}
        self.person: Claims = {"preferred_username": "claire"}
        self.change: Callable[[Claims], Claims] = lambda claims: claims
        self.metadata: Claims = {}
        self.instead: dict[str, Response] = {}
        self.sign: Callable[[Claims], str] | None = None
        self.refuse = False
        self.used: list[str] = []
        self.asked_for: list[str] = []
        self.before_token: Callable[[], None] | None = None

    def app(self) -> FastAPI:
        """Return the application to serve."""
        app = FastAPI()
        app.middleware("http")(self._answer)
        app.add_api_route("/.well-known/openid-configuration", self._discovery)
        app.add_api_route("/authorize", self._authorize)
        app.add_api_route("/token", self._token, methods=["POST"])
        app.add_api_route("/keys", self._keys)
        return app

    async def _answer(self, request: Request, go_on: RequestResponseEndpoint) -> Response:
        self.asked_for.append(request.url.path)
        if request.url.path == "/token" and self.before_token is not None:
            await run_in_threadpool(self.before_token)
        return self.instead.get(request.url.path) or await go_on(request)

    def _discovery(self) -> Claims:
        issuer = self._issuer()
        return {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "jwks_uri": f"{issuer}/keys",
            **self.metadata,
        }

    def _authorize(self, request: Request) -> RedirectResponse:
        asked = dict(request.query_params)
        assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT_ID)
        assert asked["code_challenge_method"] == "S256"
        assert "openid" in asked["scope"].split()
        answer = {"state": asked["state"]}
        if self.refuse:
            answer |= {"error": "access_denied", "error_description": "<script>alert(1)</script>"}
        else:
            code = answer["code"] = secrets.token_urlsafe()
            self._asked[code] = asked
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(answer)}", 302)

    async def _token(self, request: Request) -> JSONResponse:
        form = dict(parse_qsl((await request.body()).decode()))
        asked = self._asked.pop(str(form.get("code")), None)
        challenge = hashlib.sha256(str(form.get("code_verifier")).encode()).digest()
        fits = asked is not None and (
            asked["code_challenge"] == base64.urlsafe_b64encode(challenge).rstrip(b"=").decode()
            and asked["redirect_uri"] == form.get("redirect_uri")
        )
        known = request.headers.get("authorization") == _basic()
        if asked is None or not fits or not known:
            return JSONResponse({"error": "invalid_grant"}, 400)
        self.used.append(str(form["code"]))
        now = int(time.time())
        claims = {
            "iss": self._issuer(),
            "aud": CLIENT_ID,
            "sub": "4711",
            "iat": now,
            "exp": now + 300,
            "nonce": asked["nonce"],
            **self.person,
        }
        return JSONResponse({"token_type": "Bearer", "id_token": self.signed(self.change(claims))})

    def signed(self, claims: Claims) -> str:
        """Return claims as a signed ID token."""
        if self.sign is not None:
            return self.sign(claims)
        return jwt.encode({"alg": "RS256", "kid": "one"}, claims, self._key)

    def _keys(self) -> Claims:
        return {"keys": [self._key.as_dict(private=False)]}


def by_another_key(claims: Claims) -> str:
    """Sign with a key that does not belong to the provider."""
    return jwt.encode({"alg": "RS256", "kid": "one"}, claims, key_of("somebody else"))


def by_the_secret(claims: Claims) -> str:
    """Sign with the client's secret."""
    return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(CLIENT_SECRET))


def not_at_all(claims: Claims) -> str:
    """Return an unsigned token."""
    head, body, _ = by_the_secret(claims).split(".")
    nothing = base64.urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    return f"{nothing if head else head}.{body}."


def _basic() -> str:
    pair = f"{quote(CLIENT_ID, safe='')}:{quote(CLIENT_SECRET, safe='')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def other(**changes: Any) -> Callable[[Claims], Claims]:
    """Return a function that changes some claims of an ID token; None removes a claim."""
    return lambda claims: {name: one for name, one in {**claims, **changes}.items() if one is not None}
