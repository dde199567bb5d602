"""Single sign-on by an OpenID provider: discovery, code flow with PKCE, state and nonce (OpenID Connect Core 3.1).

The state of a sign-in is in a cookie, encrypted with this installation's keys, so that any console process can complete
what another began. No data of the provider is stored. Off unless OIDC_ISSUER is set.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import quote, urlencode

from pydantic import SecretStr

from producer.admin.access.passwords import TooBusy
from producer.admin.records.rights import Right
from shared.connection.vault import Vault
from shared.errors import BridgeError, SettingsError
from shared.notices.access import AccessRefusal
from shared.notices.system_refusals import SystemRefusal
from shared.process.bounded import Unanswered, bounded_call
from shared.process.outbound import Outbound
from shared.process.settings import Settings
from shared.telemetry.logs import get_logger
from shared.values.validation import parts_of

log = get_logger("console")
CALLBACK = "/console/sign-in/sso/callback"
PATIENCE_S = 5.0
"""Time limit for a whole call to the provider."""

KNOWN_S = 300.0
"""How long the provider's discovery document is cached."""

AT_ONCE = threading.BoundedSemaphore(8)
"""Maximum number of calls that wait for the provider. Further ones are refused, to keep threads for pages."""

LASTS_S = 600
"""How long a user may take to sign in at the provider."""

LEEWAY_S = 60
LONGEST_ANSWER = 1_000_000
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
PLAIN = re.compile(r"[!-~]{1,2000}")
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Asymmetric signatures only: with HMAC, anyone who knows the client secret could sign in as anyone."""


class SignOnRefused(BridgeError):
    """The user is not allowed to sign in."""


class ProviderFailed(BridgeError):
    """The provider cannot be reached, or its response is unusable; the details are only for the log."""


@dataclass(frozen=True, slots=True)
class Person:
    """A user that the provider has signed in.

    Attributes:
        name: name of the account.
        right: right from their groups, or None if the settings map no groups to rights.
    """

    name: str
    right: Right | None


@dataclass(frozen=True, slots=True)
class _Begun:
    """The state that completing a sign-in needs."""

    state: str
    nonce: str
    verifier: str
    wanted: str
    at: float


class SingleSignOn:
    """Signs users in by the provider in the settings.

    Args:
        settings: the process's settings.
        vault: encrypts and decrypts the cookie.

    Raises:
        SettingsError: if it is configured, but the extra `sso` is not installed or there is no secret key.
    """

    def __init__(self, settings: Settings, vault: Vault) -> None:
        self._settings, self._vault = settings, vault
        self._outbound = Outbound.of(settings)
        self._found: tuple[float, dict[str, Any]] | None = None
        if not self.is_on:
            return
        try:
            import joserfc  # noqa: F401
        except ImportError:
            raise SettingsError(
                SystemRefusal.EXTRA_NOT_INSTALLED(
                    variable="DESKBRIDGE_OIDC_ISSUER", package="joserfc", extra="[sso]"
                )
            ) from None
        if not settings.secret_keys:
            raise SettingsError(SystemRefusal.SIGN_ON_WITHOUT_KEYS())

    @property
    def is_on(self) -> bool:
        """Whether a provider is configured."""
        return self._settings.oidc_issuer is not None

    def begin(self, wanted: str) -> tuple[str, str]:
        """Begin a sign-in.

        Args:
            wanted: page to open after it.

        Returns:
            The provider's address, and the value of the browser's cookie.

        Raises:
            ProviderFailed: if the provider's discovery fails.
            TooBusy: too many sign in at this moment.
        """
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        begun = _Begun(state, nonce, verifier, wanted, time.time())
        challenge = base64.urlsafe_b64encode(hashlib.sha256(begun.verifier.encode()).digest()).rstrip(b"=")
        asked = {
            "response_type": "code",
            "client_id": self._settings.oidc_client_id,
            "redirect_uri": self._callback,
            "scope": self._settings.oidc_scopes,
            "state": begun.state,
            "nonce": begun.nonce,
            "code_challenge": challenge.decode(),
            "code_challenge_method": "S256",
        }
        address = self._endpoint(self._discovered(), "authorization_endpoint")
        sealed = self._vault.encrypt(SecretStr(json.dumps(asdict(begun))))
        return f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}", sealed

    def end(self, sealed: str, answer: Mapping[str, str]) -> tuple[Person, str]:
        """Complete a sign-in.

        Args:
            sealed: value of the browser's cookie.
            answer: query parameters of the provider's redirect.

        Returns:
            The user, and the page to open.

        Raises:
            SignOnRefused: if it was not begun here, is too old, or is not allowed by the provider or the user's groups.
            ProviderFailed: if the provider cannot be reached or its response is unusable.
            TooBusy: too many sign in at this moment.
        """
        begun = self._begun(sealed)
        if not hmac.compare_digest(begun.state.encode(), answer.get("state", "").encode()):
            raise SignOnRefused(AccessRefusal.SIGN_ON_BEGUN_ELSEWHERE())
        if "code" not in answer:
            log.warning("the provider rejected the sign-in", error=answer.get("error", "")[:100])
            raise SignOnRefused(AccessRefusal.SIGN_ON_DENIED())
        try:
            found = self._discovered()
            claims = self._claims(found, self._tokens(found, answer["code"], begun.verifier), begun.nonce)
        except ProviderFailed:
            self._found = None  # it may have moved
            raise
        return self._person(claims), begun.wanted

    @property
    def _callback(self) -> str:
        return f"{self._settings.console_url}{CALLBACK}"

    def _begun(self, sealed: str) -> _Begun:
        try:
            begun = _Begun(**json.loads(self._vault.decrypt(sealed).get_secret_value()))
        except (SettingsError, ValueError, TypeError):
            raise SignOnRefused(AccessRefusal.SIGN_ON_BEGUN_ELSEWHERE()) from None
        if time.time() - begun.at > LASTS_S:
            raise SignOnRefused(AccessRefusal.SIGN_ON_TOO_LATE())
        return begun

    def _discovered(self) -> dict[str, Any]:
        known = self._found
        if known is not None and time.monotonic() < known[0]:
            return known[1]
        issuer = self._settings.oidc_issuer or ""
        found = _json(self._outbound, "GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
        if found.get("issuer") != issuer:
            raise ProviderFailed(AccessRefusal.PROVIDER_NAMED_OTHERWISE())
        for name in ENDPOINTS:
            self._endpoint(found, name)
        self._found = (time.monotonic() + KNOWN_S, found)
        return found

    def _endpoint(self, found: Mapping[str, Any], name: str) -> str:
        address = found.get(name)
        secure = (
            ("https://", "http://") if str(self._settings.oidc_issuer).startswith("http://") else "https://"
        )
        parts = parts_of(address) if isinstance(address, str) and PLAIN.fullmatch(address) else None
        if parts is None or not parts.hostname or not str(address).startswith(secure):
            raise ProviderFailed(AccessRefusal.PROVIDER_LACKS_ENDPOINT(name=name))
        return str(address)

    def _tokens(self, found: Mapping[str, Any], code: str, verifier: str) -> dict[str, Any]:
        client_id, secret = self._settings.oidc_client_id or "", self._settings.oidc_client_secret
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._callback,
            "code_verifier": verifier,
        }
        ways = found.get("token_endpoint_auth_methods_supported")
        auth = None
        if secret is not None and (not isinstance(ways, list) or not ways or "client_secret_basic" in ways):
            auth = (quote(client_id, safe=""), quote(secret.get_secret_value(), safe=""))
        else:
            form["client_id"] = client_id
            if secret is not None:
                form["client_secret"] = secret.get_secret_value()
        address = self._endpoint(found, "token_endpoint")
        return _json(self._outbound, "POST", address, data=form, auth=auth)

    def _claims(self, found: Mapping[str, Any], tokens: Mapping[str, Any], nonce: str) -> dict[str, Any]:
        """Return the ID token's claims after checking its signature, issuer, audience, times and nonce."""
        from joserfc import jwt
        from joserfc.jwk import KeySet

        keys: Any = _json(self._outbound, "GET", self._endpoint(found, "jwks_uri"))
        registry = jwt.JWTClaimsRegistry(
            leeway=LEEWAY_S,
            iss={"essential": True, "value": self._settings.oidc_issuer or ""},
            aud={"essential": True, "value": self._settings.oidc_client_id or ""},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True, "value": nonce},
        )
        try:
            token = jwt.decode(
                str(tokens.get("id_token")), KeySet.import_key_set(keys), algorithms=ALGORITHMS
            )
            registry.validate(token.claims)
            claims = dict(token.claims)
        except Exception as fault:  # noqa: BLE001 (whatever a library raises over what somebody else has made)
            raise ProviderFailed(AccessRefusal.PROVIDER_TOKEN_FAULTY(error=type(fault).__name__)) from None
        if claims.get("azp", self._settings.oidc_client_id) != self._settings.oidc_client_id:
            raise ProviderFailed(AccessRefusal.PROVIDER_TOKEN_FOREIGN())
        return claims

    def _person(self, claims: Mapping[str, Any]) -> Person:
        name = claims.get(self._settings.oidc_name_claim)
        if not isinstance(name, str) or not name:
            raise SignOnRefused(AccessRefusal.SIGN_ON_WITHOUT_NAME())
        if self._settings.oidc_name_claim == "email" and claims.get("email_verified") is not True:
            raise SignOnRefused(AccessRefusal.SIGN_ON_UNVERIFIED())
        roles = self._settings.oidc_roles
        if not roles:
            return Person(name, None)
        groups = claims.get(self._settings.oidc_roles_claim)
        theirs = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
        rights = [Right(roles[one]) for one in theirs if isinstance(one, str) and one in roles]
        if not rights:
            raise SignOnRefused(AccessRefusal.SIGN_ON_NO_GROUP())
        return Person(name, next(one for one in rights if all(one.covers(other) for other in rights)))


def _json(outbound: Outbound, method: str, address: str, **more: Any) -> dict[str, Any]:
    """Call the provider and return the JSON object in its response.

    Raises:
        ProviderFailed: if there is no response, or it has no JSON object.
        TooBusy: if too many calls wait for it.
    """
    if not AT_ONCE.acquire(blocking=False):
        raise TooBusy(AccessRefusal.SIGN_IN_BUSY())
    try:
        status, content, _ = bounded_call(
            outbound,
            method,
            address,
            within=PATIENCE_S,
            most=LONGEST_ANSWER,
            headers={"Accept": "application/json"},
            **more,
        )
    except Unanswered as failed:
        why = AccessRefusal.PROVIDER_UNREACHABLE(method=method, address=address, error=failed.error)
        raise ProviderFailed(why) from None
    finally:
        AT_ONCE.release()
    found = _object(content) if status == 200 and content is not None else None
    if found is None:
        asked = {"method": method, "address": address}
        raise ProviderFailed(AccessRefusal.PROVIDER_ANSWER_UNUSABLE(**asked, status=status))
    return found


def _object(content: bytes) -> dict[str, Any] | None:
    """Parse a response as a JSON object; return None if it is not one."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
