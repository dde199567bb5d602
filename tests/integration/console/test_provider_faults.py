"""If an OpenID provider sends nonsense, no one is signed in, and the log says what was wrong."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
import structlog
from cryptography.fernet import Fernet
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from deploy.embedded.ports import free_port
from producer.console.auth import oidc
from producer.console.auth.oidc import ProviderFailed, SingleSignOn
from producer.console.pages import single_sign_on
from shared.connection.vault import Vault
from shared.notices.access import AccessRefusal
from shared.notices.notice import Notice
from shared.notices.refusals import Refusal
from shared.process.settings import load_settings
from tests.integration.console.oidc import (
    CLIENT_ID,
    CLIENT_SECRET,
    Claims,
    by_another_key,
    by_the_secret,
    other,
)
from tests.integration.console.pages import Visitor
from tests.integration.console.provider_place import Place, come, place, signed_in, visitor
from tests.support.refusals import says

__all__ = ["place", "visitor"]


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.example"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": None},
        {"token_endpoint": "file:///etc/passwd"},
        {"jwks_uri": "http://127.0.0.1:9/none"},
        {"authorization_endpoint": "http://login.example.org/\ud800"},
        {"authorization_endpoint": "http://login.example.org/a b"},
        {"authorization_endpoint": "http://"},
        {"authorization_endpoint": 5},
        {"token_endpoint": "http://[/"},
        {"token_endpoint": "http://127.0.0.1:99999/"},
        {"jwks_uri": ["http://127.0.0.1:9/none"]},
    ],
)
def test_a_provider_that_answers_nonsense_is_no_internal_error(
    visitor: Visitor, place: Place, metadata: dict[str, Any]
) -> None:
    place.provider.metadata = metadata
    answer = come(visitor)
    assert answer.status_code == 502
    assert "Try again" in answer.text


UNUSABLE = "Your identity provider sent an unexpected response. Try again, and tell an administrator if this persists."
AWAY = "Cannot reach your identity provider at the moment. Try again."


def failing(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> tuple[str, dict[str, Any], str]:
    """Sign in with a failing provider; return the logged code and parameters, and the page's message."""
    monkeypatch.setattr(single_sign_on, "log", structlog.get_logger())
    with structlog.testing.capture_logs() as lines:
        answer = come(visitor)
    assert answer.status_code == 502
    assert not signed_in(visitor)
    (line,) = (one for one in lines if one["event"] == "the OpenID provider failed")
    for secret in (CLIENT_SECRET, *visitor.http.cookies.values()):
        assert secret not in f"{line}"
    (told,) = re.findall(r'role="alert"[^>]*>(.*?)</p>', answer.text, re.DOTALL)
    for word in ("http", "Error", "token", "{", "_"):
        assert word not in told, "that is for the log"
    return line["code"], line["params"], " ".join(re.sub(r"<[^>]+>", "", html.unescape(told)).split())


@pytest.mark.parametrize(
    ("change", "sign", "error"),
    [
        (other(iss="https://evil.example"), None, "InvalidClaimError"),
        (other(iss=None), None, "MissingClaimError"),
        (other(exp=int(time.time()) - 3600), None, "ExpiredTokenError"),
        (other(), by_another_key, "BadSignatureError"),
        (other(), by_the_secret, "UnsupportedAlgorithmError"),
        (other(), lambda _: "", "DecodeError"),
    ],
)
def test_a_faulty_token_is_logged_by_what_is_wrong_with_it(
    visitor: Visitor,
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Claims], Claims],
    sign: Callable[[Claims], str] | None,
    error: str,
) -> None:
    place.provider.change, place.provider.sign = change, sign
    code, params, told = failing(visitor, monkeypatch)
    assert (code, params) == (AccessRefusal.PROVIDER_TOKEN_FAULTY, {"error": error})
    assert told == UNUSABLE


def test_a_token_for_another_client_is_logged_as_such(
    visitor: Visitor, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.provider.change = other(aud=[CLIENT_ID, "another"], azp="another")
    code, params, told = failing(visitor, monkeypatch)
    assert (code, params) == (AccessRefusal.PROVIDER_TOKEN_FOREIGN, {})
    assert told == UNUSABLE


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/.well-known/openid-configuration", HTMLResponse("<p>Maintenance", 503)),
        ("/.well-known/openid-configuration", HTMLResponse("<p>Sign in to the hotel's network")),
        ("/token", JSONResponse({"error": "invalid_grant"}, 400)),
        ("/token", RedirectResponse("/elsewhere")),
        ("/token", JSONResponse(["id_token"])),
        ("/keys", Response("[" * 100_000)),
        ("/keys", JSONResponse({"keys": ["x" * oidc.LONGEST_ANSWER]})),
    ],
)
def test_an_answer_that_cannot_be_used_is_logged_with_its_address_and_status(
    visitor: Visitor, place: Place, monkeypatch: pytest.MonkeyPatch, path: str, answer: Response
) -> None:
    place.provider.instead[path] = answer
    code, params, told = failing(visitor, monkeypatch)
    method = "POST" if path == "/token" else "GET"
    asked = {"method": method, "address": f"{place.issuer}{path}", "status": answer.status_code}
    assert (code, params) == (AccessRefusal.PROVIDER_ANSWER_UNUSABLE, asked)
    assert told == UNUSABLE


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"issuer": "https://evil.example"}, AccessRefusal.PROVIDER_NAMED_OTHERWISE()),
        ({"jwks_uri": "file:///etc/passwd"}, AccessRefusal.PROVIDER_LACKS_ENDPOINT(name="jwks_uri")),
    ],
)
def test_a_provider_that_describes_itself_wrongly_is_logged_by_what_is_wrong(
    visitor: Visitor,
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    metadata: dict[str, Any],
    why: Notice,
) -> None:
    place.provider.metadata = metadata
    assert failing(visitor, monkeypatch) == (why.code, why.params, UNUSABLE)


def test_an_answer_that_breaks_off_is_a_provider_that_cannot_be_asked(
    visitor: Visitor, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.provider.instead["/keys"] = Response("{", headers={"Content-Length": "100"})
    code, params, told = failing(visitor, monkeypatch)
    asked = {"method": "GET", "address": f"{place.issuer}/keys", "error": "ChunkedEncodingError"}
    assert (code, params, told) == (AccessRefusal.PROVIDER_UNREACHABLE, asked, AWAY)


@pytest.mark.parametrize("methods", [5, "client_secret_basic", {}, [5], None])
def test_odd_ways_to_prove_who_one_is_are_passed_over(visitor: Visitor, place: Place, methods: Any) -> None:
    place.provider.metadata = {"token_endpoint_auth_methods_supported": methods}
    assert come(visitor).status_code == (502 if methods == [5] else 200)


@pytest.mark.parametrize(
    "change",
    [
        other(exp="soon"),
        other(exp=[1]),
        other(iat={}),
        other(aud=5),
        other(azp=[]),
        other(iss=["x"]),
        other(nonce=5),
        other(exp=-1),
    ],
)
def test_odd_claims_are_a_faulty_token(
    visitor: Visitor, place: Place, change: Callable[[Claims], Claims]
) -> None:
    place.provider.change = change
    assert come(visitor).status_code == 502
    assert not signed_in(visitor)


@pytest.mark.parametrize(
    "keys", [5, [], [5], {"a": 1}, [{}], [{"kty": "RSA"}], [{"kty": "RSA", "n": 5, "e": 5}]]
)
def test_keys_that_are_none_are_a_faulty_token_and_no_internal_error(
    visitor: Visitor, place: Place, monkeypatch: pytest.MonkeyPatch, keys: Any
) -> None:
    place.provider.instead["/keys"] = JSONResponse({"keys": keys})
    assert failing(visitor, monkeypatch)[0] == AccessRefusal.PROVIDER_TOKEN_FAULTY


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"issuer": "https://other.example.org"}, AccessRefusal.PROVIDER_NAMED_OTHERWISE),
        ({"authorization_endpoint": "ftp://x"}, AccessRefusal.PROVIDER_LACKS_ENDPOINT),
        (None, AccessRefusal.PROVIDER_UNREACHABLE),
    ],
)
def test_why_the_provider_failed_is_logged_by_its_code(
    answer: dict[str, str] | None, code: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer = f"http://127.0.0.1:{free_port()}"
    settings = load_settings({"DESKBRIDGE_SECRET_KEYS": Fernet.generate_key().decode()})
    sso = SingleSignOn(
        settings.model_copy(update={"oidc_issuer": issuer, "console_url": "https://desk.example.org"}),
        Vault(settings.secret_keys),
    )
    if answer is not None:
        monkeypatch.setattr(oidc, "_json", lambda *_, **__: {"issuer": issuer, **answer})
    with pytest.raises(ProviderFailed, check=says(code)):
        sso.begin("/console/")
