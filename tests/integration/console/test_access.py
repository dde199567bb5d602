"""Sign-in links and tokens are shown once and unchanged; tokens expire, can be replaced, and free their name."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import update

from producer.admin.access.accounts import AccountRefused, AccountStore
from producer.admin.records.models import ApiToken
from producer.admin.records.rights import Right
from shared.store.tables.types import clock
from tests.integration.console.conftest import ComeIn, Console
from tests.integration.console.pages import PASSWORD, Visitor
from tests.support.bridge import Bridge

ONCE = "/console/access/secret"


@pytest.fixture
def administrator(come_in: ComeIn) -> Visitor:
    visitor = come_in("administrator")
    visitor.open("/console/access")
    return visitor


def shown(visitor: Visitor) -> str:
    """Return the secret on the page that was read last."""
    found = re.search(r'id="secret">([^<]+)<', visitor.page)
    return found[1] if found else ""


def test_what_was_made_is_shown_on_a_page_of_its_own_and_loading_it_again_makes_nothing(
    administrator: Visitor, accounts: AccountStore
) -> None:
    assert administrator.do("/console/access/accounts", {"name": "hugo", "right": "viewer"}) == ONCE
    administrator.open(ONCE)
    assert "/console/sign-in?code=" in shown(administrator)
    assert "is shown only once" in administrator.open(ONCE), "nothing is shown, and nothing is made"
    assert [one.name for one in accounts.all()].count("hugo") == 1
    code = accounts.link_for("hugo")
    assert accounts.sign_in_by_link(code)


def test_a_secret_is_only_shown_in_the_session_that_asked_for_it(
    administrator: Visitor, come_in: ComeIn
) -> None:
    administrator.do("/console/access/tokens", {"name": "glpi", "right": "links"})
    carried = administrator.http.cookies.get("deskbridge_once", path=ONCE)
    assert carried
    other = come_in("administrator", "hugo")
    other.http.cookies.set("deskbridge_once", carried, path=ONCE)
    other.open(ONCE)
    assert shown(other) == ""
    administrator.open(ONCE)
    assert shown(administrator)


def test_a_viewer_sees_no_secret(come_in: ComeIn) -> None:
    come_in("viewer").open(ONCE, status=403)


def test_nothing_that_is_copied_is_transformed(administrator: Visitor) -> None:
    style = re.search(r'href="(/console/static/\w+/console\.css)"', administrator.page)
    assert style
    answer = administrator.http.get(administrator.base_url + style[1], timeout=10)
    assert "text-transform" not in answer.text
    assert "first-letter" not in answer.text


def test_a_token_that_has_expired_lets_nobody_in_and_leaves_its_name_free(
    accounts: AccountStore, bridge: Bridge, console: Console, administrator: Visitor
) -> None:
    token = accounts.add_token("scripts", Right.VIEWER, days=30)
    assert console.ask("GET", "/api/events", token=token).status_code == 200
    with bridge.store.database.transaction() as session:
        session.execute(update(ApiToken).values(expires_at=clock(-1)))
    assert console.ask("GET", "/api/events", token=token).status_code == 401
    assert "expired" in administrator.open("/console/access")
    assert accounts.add_token("scripts", Right.VIEWER)


def test_the_page_makes_a_token_that_expires(administrator: Visitor, accounts: AccountStore) -> None:
    administrator.do("/console/access/tokens", {"name": "scripts", "right": "viewer", "days": "90"})
    (made,) = accounts.tokens()
    assert made.expires_at
    assert (made.expires_at - made.created_at).days in (89, 90)
    answer = administrator.send("/console/access/tokens", {"name": "other", "right": "viewer", "days": "7"})
    assert answer.status_code == 422


def test_the_name_of_a_revoked_token_is_free_again(
    accounts: AccountStore, console: Console, administrator: Visitor
) -> None:
    before = accounts.add_token("glpi", Right.LINKS)
    with pytest.raises(AccountRefused, match="a token glpi already exists"):
        accounts.add_token("glpi", Right.LINKS)
    accounts.revoke_token("glpi")
    after = accounts.add_token("glpi", Right.LINKS)
    assert console.ask("GET", "/api/links", token=before).status_code == 401
    assert console.ask("GET", "/api/links", token=after).status_code == 200
    assert "glpi #" in administrator.open("/console/access"), "the one before is told apart"


def test_a_token_is_replaced_and_the_one_before_goes_on_for_an_hour(
    accounts: AccountStore, bridge: Bridge, console: Console, administrator: Visitor
) -> None:
    before = accounts.add_token("scripts", Right.VIEWER, "administrator")
    assert administrator.do("/console/access/tokens/rotate", {"name": "scripts"}) == ONCE
    administrator.open(ONCE)
    after = shown(administrator)
    for token in (before, after):
        assert console.ask("GET", "/api/events", token=token).status_code == 200
    new, old = accounts.tokens()
    assert (new.name, new.right, new.owner, new.revoked_at) == ("scripts", "viewer", "administrator", None)
    assert old.revoked_at
    with bridge.store.database.transaction() as session:
        session.execute(update(ApiToken).where(ApiToken.revoked_at.is_not(None)).values(revoked_at=clock(-1)))
    assert console.ask("GET", "/api/events", token=before).status_code == 401
    assert console.ask("GET", "/api/events", token=after).status_code == 200
    assert "replaced API token scripts" in administrator.open("/console/changes")


def test_a_token_that_was_replaced_ends_with_its_owner(accounts: AccountStore, console: Console) -> None:
    accounts.add("hugo", None, Right.OPERATOR)
    before = accounts.add_token("scripts", Right.VIEWER, "hugo")
    after = accounts.rotate_token("scripts")
    assert accounts.disable("hugo") == 2
    for token in (before, after):
        assert console.ask("GET", "/api/events", token=token).status_code == 401
    accounts.disable("hugo", disabled=False)
    assert console.ask("GET", "/api/events", token=before).status_code == 401
    with pytest.raises(AccountRefused, match="revoked or has expired"):
        accounts.rotate_token("scripts")


def test_names_that_differ_only_in_case_are_one_account(accounts: AccountStore, come_in: ComeIn) -> None:
    accounts.add("Élodie", PASSWORD, Right.VIEWER)
    with pytest.raises(AccountRefused, match="Élodie"):
        accounts.add("éLODIE", None, Right.VIEWER)
    session = accounts.sign_in("ÉLODIE", PASSWORD)
    assert session
    signed_in = accounts.user_of_session(session)
    assert signed_in
    assert signed_in.name == "Élodie"
