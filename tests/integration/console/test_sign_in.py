"""Who gets in to the pages, for how long, and who does not."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from sqlalchemy import select, update

from producer.admin.access.accounts import AccountStore
from producer.admin.records.models import ApiToken, ConsoleAccount, ConsoleSession, SignInLink
from producer.admin.records.rights import Right
from producer.console.app import create_console
from producer.console.pages.sign_in import TRIES_OF_ADDRESS
from shared.store.tables.configuration import ChangeRecord
from shared.store.tables.types import clock
from tests.integration.console.conftest import TOKEN, Console
from tests.integration.console.pages import PASSWORD, SAME_ORIGIN, Visitor
from tests.support.bridge import Bridge

Come = Callable[[Right], Visitor]


def test_name_and_password_let_in_and_the_cookie_is_for_these_pages_only(visitor: Visitor) -> None:
    answer = visitor.sign_in("viewer")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/console")
    cookie = answer.headers["Set-Cookie"]
    for part in ("HttpOnly", "SameSite=strict", "Path=/console"):
        assert part in cookie
    assert "Overview" in visitor.open("/console")


@pytest.mark.promise("SEC-72")
def test_where_browsers_come_over_tls_every_cookie_is_for_tls_alone(
    visitor: Visitor, console: Console, bridge: Bridge
) -> None:
    """The proxy terminates TLS, so only CONSOLE_URL shows that browsers use it."""
    settings = bridge.settings.model_copy(update={"console_url": "https://deskbridge.example.org"})
    behind = Console(create_console(settings))
    behind.start()
    proxied = Visitor(behind.base_url)
    answer = proxied.sign_in("viewer")
    session = re.search(r"__Secure-deskbridge_session=[\w-]+", answer.headers["Set-Cookie"])
    assert session
    cookie = {"Cookie": session[0]}
    assert "Overview" in proxied.open("/console", Cookie=session[0])
    chosen = proxied.send("/console/language", {"language": "fr"}, headers={**SAME_ORIGIN, **cookie})
    kept = [*answer.raw.headers.getlist("Set-Cookie"), *chosen.raw.headers.getlist("Set-Cookie")]
    assert [one.partition("=")[0].removeprefix("__Secure-deskbridge_") for one in kept][:2] == [
        "session",
        "device",
    ]
    assert len(kept) == 3
    assert all("; Secure" in one for one in kept), kept
    proxied.close()
    behind.stop()


@pytest.mark.promise("SEC-61")
@pytest.mark.parametrize("name", ["viewer", "nobody"])
def test_a_wrong_password_and_an_unknown_name_are_told_alike(visitor: Visitor, name: str) -> None:
    answer = visitor.sign_in(name, "wrong horse battery")
    assert answer.status_code == 401
    assert "Wrong name or password" in answer.text
    assert "Set-Cookie" not in answer.headers


@pytest.mark.promise("SEC-62")
def test_a_session_that_somebody_planted_before_is_not_the_one_after(visitor: Visitor) -> None:
    visitor.http.cookies.set("deskbridge_session", "planted", path="/console")
    answer = visitor.sign_in("viewer")
    assert "deskbridge_session=" in answer.headers["Set-Cookie"]
    assert "planted" not in answer.headers["Set-Cookie"]
    visitor.http.cookies.clear()
    visitor.http.cookies.set("deskbridge_session", "planted", path="/console")
    assert "Sign in" in visitor.open("/console")


@pytest.mark.promise("SEC-61")
def test_too_many_wrong_passwords_have_to_wait_also_the_right_one(visitor: Visitor) -> None:
    statuses = [visitor.sign_in("viewer", "wrong horse battery").status_code for _ in range(TRIES_OF_ADDRESS)]
    assert statuses == [401] * TRIES_OF_ADDRESS
    assert visitor.sign_in("viewer").status_code == 429


def test_who_is_not_signed_in_is_asked_and_then_led_to_where_they_wanted_to_go(visitor: Visitor) -> None:
    answer = visitor.http.get(
        visitor.base_url + "/console/events?state=failed",
        headers=SAME_ORIGIN,
        allow_redirects=False,
        timeout=10,
    )
    assert answer.headers["Location"] == "/console/sign-in?next=%2Fconsole%2Fevents%3Fstate%3Dfailed"
    sent = visitor.send(
        "/console/sign-in", {"name": "viewer", "password": PASSWORD, "next": "/console/events?state=failed"}
    )
    assert sent.headers["Location"] == "/console/events?state=failed"


@pytest.mark.promise("SEC-64")
@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "/console//evil.example",
        "/console/\r\nSet-Cookie: x=y",
        "javascript:alert(1)",
        "/consoleevil",
        "/api/links",
    ],
)
def test_nobody_is_led_to_another_site_after_signing_in(visitor: Visitor, target: str) -> None:
    sent = visitor.send("/console/sign-in", {"name": "viewer", "password": PASSWORD, "next": target})
    assert sent.headers["Location"] == "/console"
    assert "x=y" not in sent.headers.get("Set-Cookie", "")


def test_a_link_from_another_site_is_asked_once_more_so_that_the_cookie_comes_along(visitor: Visitor) -> None:
    page = visitor.open("/console/events", Sec_Fetch_Site="cross-site")
    assert 'http-equiv="refresh"' in visitor.page
    assert page.strip() == "deskbridge"


@pytest.mark.promise("SEC-63")
def test_a_sign_in_link_works_once(visitor: Visitor, accounts: AccountStore) -> None:
    code = accounts.link_for("operator")
    visitor.open(f"/console/sign-in?code={code}")
    assert visitor.send("/console/sign-in", {"code": code}).status_code == 303
    visitor.http.cookies.clear()
    assert visitor.send("/console/sign-in", {"code": code}).status_code == 401


def test_whoever_has_no_password_is_asked_for_none_to_set_the_first(
    visitor: Visitor, accounts: AccountStore
) -> None:
    accounts.add("guest", None, Right.VIEWER)
    code = accounts.link_for("guest")
    visitor.send("/console/sign-in", {"code": code})
    page = visitor.open("/console/account")
    assert "Set the password" in page
    assert "Current password" not in page
    visitor.do("/console/account/password", {"password": PASSWORD, "again": PASSWORD})
    assert "Current password" in visitor.open("/console/account")


@pytest.mark.promise("SEC-62")
def test_signing_out_ends_the_session_itself(visitor: Visitor) -> None:
    visitor.sign_in("viewer")
    session = next(one.value for one in visitor.http.cookies)
    visitor.open("/console")
    visitor.do("/console/sign-out")
    visitor.http.cookies.set("deskbridge_session", session or "", path="/console")
    assert "Sign in" in visitor.open("/console")


@pytest.mark.promise("SEC-62")
def test_signing_out_everywhere_ends_the_other_sessions_too(visitor: Visitor, console: Console) -> None:
    other = Visitor(console.base_url)
    for one in (visitor, other):
        one.sign_in("viewer")
    visitor.open("/console")
    visitor.do("/console/account/sign-out")
    assert "Sign in" in other.open("/console")
    other.close()


@pytest.mark.promise("SEC-62")
@pytest.mark.parametrize("column", ["seen_at", "ends_at"])
def test_a_session_ends_when_it_was_idle_or_is_old(visitor: Visitor, bridge: Bridge, column: str) -> None:
    visitor.sign_in("viewer")
    with bridge.store.database.transaction() as session:
        session.execute(update(ConsoleSession).values({column: clock(-3 * 3600)}))
    assert "Sign in" in visitor.open("/console")


@pytest.mark.promise("SEC-62")
def test_a_disabled_account_is_out_at_once(visitor: Visitor, accounts: AccountStore) -> None:
    visitor.sign_in("operator")
    accounts.disable("operator")
    assert "Sign in" in visitor.open("/console")
    assert visitor.sign_in("operator").status_code == 401


@pytest.mark.promise("SEC-63")
def test_nothing_that_opens_a_door_is_kept_as_it_is(
    visitor: Visitor, accounts: AccountStore, bridge: Bridge
) -> None:
    visitor.sign_in("viewer")
    secrets = [next(one.value for one in visitor.http.cookies) or "", accounts.link_for("viewer"), PASSWORD]
    secrets.append(accounts.add_token("glpi", Right.LINKS))
    tables = (ConsoleAccount, ConsoleSession, SignInLink, ApiToken, ChangeRecord)
    with bridge.store.database.transaction() as session:
        kept = " ".join(str(row) for table in tables for row in session.execute(select(table.__table__)))
    assert all(one not in kept for one in secrets)
    assert "$argon2id$" in kept


FOREIGN = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:1"},
    {"Sec-Fetch-Site": "none"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "null"},
    {"Origin": "http://["},
    {"Origin": "http://]x["},
    {"Origin": "http://[::1"},
    {"Origin": "null", "Host": ""},
    {},
]


@pytest.mark.promise("SEC-64")
@pytest.mark.parametrize("headers", FOREIGN)
def test_a_form_of_another_site_or_port_changes_nothing(visitor: Visitor, headers: dict[str, str]) -> None:
    visitor.sign_in("viewer")
    visitor.open("/console")
    assert visitor.send("/console/sign-out", headers=headers).status_code == 403
    assert "Overview" in visitor.open("/console")


@pytest.mark.promise("SEC-64")
def test_where_browsers_do_not_say_the_site_the_origin_counts(visitor: Visitor) -> None:
    visitor.sign_in("viewer")
    visitor.open("/console")
    assert visitor.send("/console/sign-out", headers={"Origin": visitor.base_url}).status_code == 303


@pytest.mark.promise("SEC-64")
def test_a_form_of_an_earlier_session_is_refused(visitor: Visitor) -> None:
    visitor.sign_in("viewer")
    visitor.open("/console")
    old = visitor.form_token
    visitor.sign_in("viewer")
    answer = visitor.http.post(
        visitor.base_url + "/console/sign-out", data={"form_token": old}, headers=SAME_ORIGIN, timeout=10
    )
    assert answer.status_code == 409
    assert "earlier session" in answer.text


@pytest.mark.promise("SEC-64")
def test_a_form_without_a_session_changes_nothing_and_says_so(visitor: Visitor) -> None:
    answer = visitor.send("/console/events/replay", {"state": "failed", "upto": "1"})
    assert answer.status_code == 401
    assert "Nothing was changed" in answer.text


@pytest.mark.promise("SEC-65")
def test_the_pages_headers_let_nothing_foreign_in(visitor: Visitor) -> None:
    answer = visitor.http.get(visitor.base_url + "/console/sign-in", timeout=10)
    policy = answer.headers["Content-Security-Policy"]
    for part in (
        "default-src 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "base-uri 'none'",
    ):
        assert part in policy
    assert "unsafe" not in policy
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Referrer-Policy"] == "same-origin"


def test_script_and_style_are_served_for_ever_under_the_name_of_their_content(visitor: Visitor) -> None:
    visitor.open("/console/sign-in")
    for path in re.findall(r'(?:src|href)="(/console/static/[^"]+)"', visitor.page):
        answer = visitor.http.get(visitor.base_url + path, timeout=10)
        assert (answer.status_code, "immutable" in answer.headers["Cache-Control"]) == (200, True)
    for path in ("/console/static/0/console.css", "/console/static/0/../../app.py"):
        assert visitor.http.get(visitor.base_url + path, timeout=10, headers=SAME_ORIGIN).status_code in (
            404,
            200,
        )


@pytest.mark.promise("SEC-66")
def test_a_cookie_means_nothing_to_the_api_and_a_token_nothing_to_the_pages(
    visitor: Visitor, console: Console
) -> None:
    visitor.sign_in("administrator")
    assert visitor.http.get(visitor.base_url + "/api/links", timeout=10).status_code == 401
    answer = console.http.get(
        console.base_url + "/console/events",
        headers={"Authorization": f"Bearer {TOKEN}", **SAME_ORIGIN},
        allow_redirects=False,
        timeout=10,
    )
    assert answer.status_code == 303


CHANGING = [
    ("POST", "/console/events/replay"),
    ("POST", "/console/tickets/4711/replay"),
    ("POST", "/console/tickets/4711/forget-link"),
    ("POST", "/console/tickets/4711/take-back"),
    ("POST", "/console/held/ticket/4711"),
    ("POST", "/console/access/accounts"),
    ("POST", "/console/access/accounts/change"),
    ("POST", "/console/access/tokens"),
    ("POST", "/console/access/tokens/rotate"),
    ("POST", "/console/access/tokens/revoke"),
]


@pytest.mark.promise("SEC-66")
@pytest.mark.parametrize(("method", "path"), CHANGING)
def test_a_viewer_is_refused_everything_that_changes(visitor: Visitor, method: str, path: str) -> None:
    visitor.sign_in("viewer")
    visitor.open("/console")
    answer = visitor.send(path, {"name": "x"})
    assert answer.status_code == 403, answer.text
    assert "This requires the" in answer.text


@pytest.mark.promise("SEC-66")
def test_the_last_administrator_stays(accounts: AccountStore, visitor: Visitor) -> None:
    visitor.sign_in("administrator")
    visitor.open("/console/access")
    for act in ({"act": "disable"}, {"act": "right", "right": "viewer"}):
        answer = visitor.send("/console/access/accounts/change", {"name": "administrator", **act})
        assert answer.status_code == 409
        assert "only administrator" in answer.text


@pytest.mark.promise("SEC-63")
def test_a_token_is_shown_once_has_its_scope_and_can_be_revoked(visitor: Visitor, console: Console) -> None:
    visitor.sign_in("administrator")
    visitor.open("/console/access")
    visitor.open(visitor.do("/console/access/tokens", {"name": "glpi", "right": "links"}))
    token = re.search(r'id="secret">([\w-]+)<', visitor.page)
    assert token
    assert console.ask("GET", "/api/links", token=token[1]).status_code == 200
    assert console.ask("GET", "/api/events", token=token[1]).status_code == 403
    visitor.open("/console/access")
    assert token[1] not in visitor.page
    assert re.search(r'data-name="Owner">administrator<', visitor.page), "it belongs to its maker"
    visitor.do("/console/access/tokens/revoke", {"name": "glpi"})
    assert console.ask("GET", "/api/links", token=token[1]).status_code == 401


@pytest.mark.promise("SEC-66")
def test_a_viewers_token_is_refused_on_every_route_of_the_api_that_changes_anything(
    console: Console, accounts: AccountStore
) -> None:
    token = accounts.add_token("watch", Right.VIEWER)
    paths = console.get("/api/openapi.json")["paths"]
    asked = 0
    for path, methods in paths.items():
        for method in methods:
            real = re.sub(r"\{[^}]+\}", "7", path) + ("?action=dryrun" if "template_test" in path else "")
            if method == "get":
                continue
            body = {"operation": "issue.create", "body": "{}"} if "template_test" in path else {}
            answer = console.ask(method.upper(), real, token=token, json=body)
            assert answer.status_code == 403, (method, path, answer.text)
            asked += 1
    assert asked > 12


@pytest.mark.promise("SEC-67")
def test_every_sign_in_and_change_of_access_is_in_the_record(visitor: Visitor) -> None:
    visitor.sign_in("administrator")
    visitor.open("/console/access")
    visitor.send("/console/access/tokens", {"name": "glpi", "right": "links"})
    page = visitor.open("/console/changes")
    for part in ("signed in", "created API token glpi (links)", "added account viewer (viewer)"):
        assert part in page
