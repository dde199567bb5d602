"""Sign-in with an OpenID provider: who gets in with which role, and that every irregularity is refused."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from starlette.responses import JSONResponse

from producer.admin.records.rights import Right
from producer.console.auth import oidc
from producer.console.auth.oidc import LASTS_S, ProviderFailed, SingleSignOn
from producer.console.pages.sign_in import TRIES_OF_ADDRESS
from producer.http.buckets import Buckets
from shared.connection.vault import Vault
from shared.errors import SettingsError
from shared.notices.access import AccessRefusal
from shared.notices.invalid import Invalid
from shared.notices.notice import Notice
from shared.notices.system_refusals import SystemRefusal
from shared.process.settings import load_settings
from tests.integration.console.oidc import (
    CLIENT_ID,
    Claims,
    by_another_key,
    by_the_secret,
    not_at_all,
    other,
)
from tests.integration.console.pages import PASSWORD, Visitor
from tests.integration.console.provider_place import Place, come, place, signed_in, visitor, visitor_console
from tests.support.bridge import Bridge
from tests.support.refusals import says
from tests.support.wire import WireServer, trickle

__all__ = ["place", "visitor"]

ROLES = {"desk-admins": "administrator", "desk": "operator", "all": "viewer"}


def test_the_link_leads_to_the_provider_and_back_to_where_somebody_wanted_to_go(
    visitor: Visitor, place: Place
) -> None:
    visitor.open("/console/sign-in?next=%2Fconsole%2Fevents")
    assert 'href="/console/sign-in/sso?next=%2Fconsole%2Fevents"' in visitor.page
    answer = come(visitor, "/console/sign-in/sso?next=%2Fconsole%2Fevents")
    assert (answer.status_code, urlsplit(answer.url).path) == (200, "/console/events")
    assert "claire" in answer.text
    cookies = " ".join(one.headers.get("Set-Cookie", "") for one in answer.history)
    for part in ("deskbridge_sso=", "SameSite=lax", "deskbridge_session=", "SameSite=strict", "HttpOnly"):
        assert part in cookies
    assert all(one.name != "deskbridge_sso" for one in visitor.http.cookies), "used up"
    assert "claire signed in" in visitor.open("/console/changes").replace("claires", "claire s")


def test_it_is_off_unless_a_provider_is_named(place: Place) -> None:
    visitor = Visitor(place.console(oidc_issuer=None).base_url)
    visitor.open("/console/sign-in")
    assert "/sign-in/sso" not in visitor.page
    assert come(visitor).status_code == come(visitor, "/console/sign-in/sso/callback").status_code == 404


def test_whoever_has_no_account_stays_outside_unless_accounts_are_made(
    visitor: Visitor, place: Place
) -> None:
    place.provider.person = {"preferred_username": "nora"}
    answer = come(visitor)
    assert answer.status_code == 403
    assert "there is no account nora" in answer.text
    assert not signed_in(visitor)
    other = Visitor(place.console(oidc_makes_accounts=True).base_url)
    assert come(other).status_code == 200
    (nora,) = (one for one in place.accounts.all() if one.name == "nora")
    assert (nora.right, nora.password_hash) == (Right.VIEWER, None)
    assert "single sign-on" in other.open("/console/changes")


def test_an_account_that_is_shut_stays_shut(visitor: Visitor, place: Place) -> None:
    place.accounts.disable("claire")
    assert come(visitor).status_code == 403
    assert not signed_in(visitor)


@pytest.mark.parametrize(
    ("groups", "right"),
    [
        (["all", "desk-admins", "else"], Right.ADMINISTRATOR),
        (["desk", 5], Right.OPERATOR),
        ("all", Right.VIEWER),
    ],
)
def test_the_highest_role_of_somebodys_groups_counts_at_each_sign_in(
    place: Place, groups: Any, right: Right
) -> None:
    place.accounts.add("root", PASSWORD, Right.ADMINISTRATOR)
    place.provider.person = {"preferred_username": "claire", "groups": groups}
    assert come(Visitor(place.console(oidc_roles=ROLES).base_url)).status_code == 200
    assert {one.name: one.right for one in place.accounts.all()}["claire"] == right


@pytest.mark.parametrize("groups", [["else"], [], None, {"desk": 1}])
def test_somebody_with_none_of_the_groups_stays_outside(place: Place, groups: Any) -> None:
    place.provider.person = {"preferred_username": "claire", "groups": groups}
    visitor = Visitor(place.console(oidc_roles=ROLES).base_url)
    assert come(visitor).status_code == 403
    assert not signed_in(visitor)


def test_the_last_administrator_stays_one(place: Place) -> None:
    place.accounts.set_right("claire", Right.ADMINISTRATOR)
    place.provider.person = {"preferred_username": "claire", "groups": ["all"]}
    answer = come(Visitor(place.console(oidc_roles=ROLES).base_url))
    assert answer.status_code == 403
    assert "only administrator" in answer.text


def test_an_e_mail_that_nobody_has_verified_is_no_name(place: Place) -> None:
    place.accounts.add("claire@example.test", PASSWORD, Right.VIEWER)
    visitor = Visitor(place.console(oidc_name_claim="email").base_url)
    for verified, status in ((None, 403), (False, 403), ("true", 403), (True, 200)):
        place.provider.person = {"email": "claire@example.test", "email_verified": verified}
        assert come(visitor).status_code == status, verified


@pytest.mark.promise("SEC-69")
@pytest.mark.parametrize(
    "change",
    [
        other(iss="https://evil.example"),
        other(aud="another"),
        other(aud=["another"]),
        other(aud=[CLIENT_ID, "another"], azp="another"),
        other(exp=int(time.time()) - 3600),
        other(iat=int(time.time()) + 3600),
        other(nonce="another"),
        *(other(**{name: None}) for name in ("iss", "aud", "exp", "iat", "nonce", "sub")),
    ],
)
def test_an_id_token_that_is_not_of_this_sign_in_lets_nobody_in(
    visitor: Visitor, place: Place, change: Callable[[Claims], Claims]
) -> None:
    place.provider.change = change
    assert come(visitor).status_code == 502
    assert place.provider.used
    assert not signed_in(visitor)


@pytest.mark.promise("SEC-69")
@pytest.mark.parametrize("sign", [by_another_key, by_the_secret, not_at_all, lambda _: "a.b.c", lambda _: ""])
def test_an_id_token_that_the_provider_has_not_signed_lets_nobody_in(
    visitor: Visitor, place: Place, sign: Callable[[Claims], str]
) -> None:
    place.provider.sign = sign
    assert come(visitor).status_code == 502
    assert not signed_in(visitor)


@pytest.mark.promise("SEC-69")
def test_what_was_begun_in_another_browser_is_ended_in_none(visitor: Visitor, place: Place) -> None:
    begun = visitor.http.get(visitor.base_url + "/console/sign-in/sso", allow_redirects=False, timeout=10)
    back = requests.get(begun.headers["Location"], allow_redirects=False, timeout=10).headers["Location"]
    stranger = Visitor(visitor.base_url)
    for cookies in ({}, {"deskbridge_sso": "nonsense"}):
        stranger.http.cookies.update(cookies)
        answer = stranger.http.get(back, timeout=10)
        assert answer.status_code == 403
        assert "started in another browser or window" in answer.text
    stranger.http.cookies.clear()
    own = stranger.http.get(stranger.base_url + "/console/sign-in/sso", allow_redirects=False, timeout=10)
    assert own.status_code == 303
    assert stranger.http.get(back, timeout=10).status_code == 403, "another sign-in's state"
    assert place.provider.used == []
    assert visitor.http.get(back, timeout=10).status_code == 200
    assert visitor.http.get(back, timeout=10).status_code == 403, "only once"


@pytest.mark.promise("SEC-69")
def test_the_code_is_worth_nothing_without_the_verifier_that_only_the_console_has(
    visitor: Visitor, place: Place
) -> None:
    begun = visitor.http.get(visitor.base_url + "/console/sign-in/sso", allow_redirects=False, timeout=10)
    asked = parse_qs(urlsplit(begun.headers["Location"]).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["redirect_uri"] == [f"{visitor.base_url}/console/sign-in/sso/callback"]
    weak = begun.headers["Location"].replace(asked["code_challenge"][0], "x" * 43)
    back = requests.get(weak, allow_redirects=False, timeout=10).headers["Location"]
    assert visitor.http.get(back, timeout=10).status_code == 502


def test_a_sign_in_that_takes_too_long_is_begun_anew(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = visitor.http.get(visitor.base_url + "/console/sign-in/sso", allow_redirects=False, timeout=10)
    back = requests.get(begun.headers["Location"], allow_redirects=False, timeout=10).headers["Location"]
    monkeypatch.setattr("producer.console.auth.oidc.LASTS_S", -1)
    answer = visitor.http.get(back, timeout=10)
    assert answer.status_code == 403
    assert "too long" in answer.text
    assert LASTS_S > 0


def test_what_one_console_began_another_ends(visitor: Visitor, place: Place) -> None:
    second = place.console(console_url=visitor.base_url)
    begun = visitor.http.get(visitor.base_url + "/console/sign-in/sso", allow_redirects=False, timeout=10)
    back = requests.get(begun.headers["Location"], allow_redirects=False, timeout=10).headers["Location"]
    answer = visitor.http.get(back.replace(visitor.base_url, second.base_url), timeout=10)
    assert answer.status_code == 200
    assert "claire" in answer.text


def test_the_provider_may_say_no_and_its_words_are_not_shown(visitor: Visitor, place: Place) -> None:
    place.provider.refuse = True
    answer = come(visitor)
    assert answer.status_code == 403
    assert "rejected the sign-in" in answer.text
    assert "alert(1)" not in answer.text


@pytest.mark.promise("SEC-76")
def test_what_the_provider_says_of_itself_is_kept_for_minutes(
    visitor: Visitor, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        assert come(visitor).status_code == 200
    assert place.provider.asked_for.count("/.well-known/openid-configuration") == 1
    monkeypatch.setattr(oidc, "KNOWN_S", -1.0)
    sso = visitor_console(place).app.state.sso
    sso._found = None
    for _ in range(2):
        assert come(visitor).status_code == 200
    assert place.provider.asked_for.count("/.well-known/openid-configuration") > 3


def test_a_provider_that_has_moved_is_asked_anew(visitor: Visitor, place: Place) -> None:
    assert come(visitor).status_code == 200
    place.provider.instead["/token"] = JSONResponse({}, 404)
    assert come(visitor).status_code == 502
    del place.provider.instead["/token"]
    assert come(visitor).status_code == 200
    assert place.provider.asked_for.count("/.well-known/openid-configuration") == 2


@pytest.mark.promise("SEC-76")
def test_only_so_many_sign_ons_wait_for_the_provider_and_pages_go_on(
    visitor: Visitor, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oidc, "AT_ONCE", threading.BoundedSemaphore(2))
    monkeypatch.setattr(visitor_console(place).app.state.tries, "_of_address", Buckets(1.0, 1000.0))
    may_go_on, there = threading.Event(), threading.Semaphore(0)

    def wait() -> None:
        there.release()
        assert may_go_on.wait(60)

    place.provider.before_token = wait
    others = [Visitor(visitor.base_url) for _ in range(2)]
    with ThreadPoolExecutor(2) as at_once:
        waiting = [at_once.submit(come, one) for one in others]
        for _ in others:
            assert there.acquire(timeout=30)
        answer = come(visitor)
        assert (answer.status_code, "too many people are signing in" in answer.text) == (503, True)
        assert "Sign in" in visitor.open("/console/sign-in")
        may_go_on.set()
        assert [one.result(60).status_code for one in waiting] == [200, 200]
    assert come(visitor).status_code == 200


@pytest.mark.promise("SEC-76")
def test_a_provider_whose_headers_trickle_keeps_nobody_for_long(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oidc, "PATIENCE_S", 0.5)

    def script(server: WireServer, connection: socket.socket, _number: int) -> None:
        server.read_request(connection)
        trickle(connection, b"HTTP/1.1 200 OK\r\nX: ", b"x", 0.05, server.ended)

    with WireServer(script) as provider:
        settings = bridge.settings.model_copy(update={"oidc_issuer": provider.url, "console_url": "http://x"})
        sso, began = SingleSignOn(settings, Vault(settings.secret_keys)), time.monotonic()
        with pytest.raises(ProviderFailed, check=says(AccessRefusal.PROVIDER_UNREACHABLE, error="Timeout")):
            sso.begin("/console/")
        assert time.monotonic() - began < 5


def test_whoever_tries_again_and_again_has_to_wait(visitor: Visitor, place: Place) -> None:
    place.provider.refuse = True
    statuses = [come(visitor).status_code for _ in range(TRIES_OF_ADDRESS + 1)]
    assert statuses == [403] * TRIES_OF_ADDRESS + [429]


def test_nobody_gives_themselves_a_password_that_outlasts_the_provider(place: Place) -> None:
    place.provider.person = {"preferred_username": "nora"}
    visitor = Visitor(place.console(oidc_makes_accounts=True).base_url)
    come(visitor)
    visitor.open("/console/account")
    answer = visitor.send("/console/account/password", {"password": PASSWORD, "again": PASSWORD})
    assert answer.status_code == 422
    assert "You sign in with your organisation" in answer.text


@pytest.mark.parametrize(
    ("values", "field", "what"),
    [
        ({"OIDC_ISSUER": "http://login.example.org"}, "", Invalid.ISSUER_EXPECTED()),
        ({"OIDC_ISSUER": "https://[login.example.org"}, "", Invalid.ISSUER_EXPECTED()),
        (
            {"OIDC_ISSUER": "https://login.example.org"},
            "",
            Invalid.SETTINGS_INCOMPLETE(setting="OIDC_ISSUER", missing=["OIDC_CLIENT_ID", "CONSOLE_URL"]),
        ),
        (
            {"OIDC_ROLES": "desk=operator"},
            "DESKBRIDGE_OIDC_ROLES",
            Invalid.ROLES_EXPECTED(example='{"desk-admins": "administrator"}'),
        ),
        (
            {"OIDC_ROLES": '{"desk": "king"}'},
            "DESKBRIDGE_OIDC_ROLES",
            Invalid.CHOICE_EXPECTED(choices=["viewer", "operator", "administrator"]),
        ),
    ],
)
def test_settings_that_cannot_be_right_are_refused_at_start(
    values: dict[str, str], field: str, what: Notice
) -> None:
    with pytest.raises(SettingsError, check=says(SystemRefusal.ENVIRONMENT_NOT_VALID)) as refused:
        load_settings({f"DESKBRIDGE_{name}": value for name, value in values.items()})
    assert refused.value.faults == [(field, what)]
