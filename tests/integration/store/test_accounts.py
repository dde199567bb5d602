"""Concurrent changes of accounts, on both databases: one administrator stays, and no sign-in succeeds too late."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from sqlalchemy import event

from producer.admin.access.accounts import AccountRefused, AccountStore
from producer.admin.records.rights import Right
from producer.admin.records.transaction import Store
from shared.notices.access import AccessRefusal
from tests.support.refusals import says
from tests.support.waiting import until

PASSWORD = "correct horse battery staple"


@pytest.fixture
def accounts(store: Store) -> AccountStore:
    made = AccountStore(store)
    made.add("anna", None, Right.ADMINISTRATOR)
    made.add("bert", None, Right.ADMINISTRATOR)
    made.add("carl", None, Right.VIEWER)
    return made


@contextmanager
def in_the_middle(store: Store) -> Iterator[threading.Event]:
    """Stop the first transaction that changes an account right before its commit, until the event is set."""
    may_go_on, waits = threading.Event(), threading.Event()
    changed: set[int] = set()

    def note(connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("UPDATE console_account"):
            changed.add(id(connection))

    def hold(connection: object) -> None:
        if id(connection) in changed and not waits.is_set():
            waits.set()
            assert may_go_on.wait(60)

    event.listen(store.database.engine, "after_cursor_execute", note)
    event.listen(store.database.engine, "commit", hold)
    try:
        may_go_on.waits = waits  # type: ignore[attr-defined]
        yield may_go_on
    finally:
        may_go_on.set()
        event.remove(store.database.engine, "after_cursor_execute", note)
        event.remove(store.database.engine, "commit", hold)


def disable(name: str) -> Callable[[AccountStore], object]:
    return lambda accounts: accounts.disable(name)


def demote(name: str) -> Callable[[AccountStore], object]:
    return lambda accounts: accounts.set_right(name, Right.VIEWER)


@pytest.mark.promise("SEC-66")
@pytest.mark.parametrize("first", [disable("anna"), demote("anna")])
@pytest.mark.parametrize("second", [disable("bert"), demote("bert")])
def test_two_changes_at_once_leave_an_administrator(
    accounts: AccountStore,
    store: Store,
    first: Callable[[AccountStore], object],
    second: Callable[[AccountStore], object],
) -> None:
    with ThreadPoolExecutor(2) as at_once, in_the_middle(store) as may_go_on:
        one = at_once.submit(first, accounts)
        until(lambda: may_go_on.waits.is_set())  # type: ignore[attr-defined]
        other = at_once.submit(second, accounts)
        with pytest.raises(TimeoutError):
            other.result(1)
        may_go_on.set()
        one.result(60)
        with pytest.raises(AccountRefused, check=says(AccessRefusal.LAST_ADMINISTRATOR, name="bert")):
            other.result(60)
    left = [one.name for one in accounts.all() if one.right == "administrator" and not one.disabled_at]
    assert left == ["bert"]


@pytest.mark.promise("SEC-62")
@pytest.mark.parametrize("change", ["disable", "set_password"])
def test_a_sign_in_that_was_under_way_begins_no_session_after_the_account_was_shut_or_its_password_changed(
    accounts: AccountStore, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    accounts.set_password("carl", PASSWORD)
    proven = AccountStore._proven

    def slow(self: AccountStore, name: str, password: str) -> object:
        found = proven(self, name, password)
        accounts.disable("carl") if change == "disable" else accounts.set_password("carl", PASSWORD + "!")
        return found

    monkeypatch.setattr(AccountStore, "_proven", slow)
    assert accounts.sign_in("carl", PASSWORD) is None


@pytest.mark.promise("SEC-73")
def test_the_tokens_of_an_account_end_with_it(accounts: AccountStore) -> None:
    own, other = (
        accounts.add_token("scripts", Right.OPERATOR, "anna"),
        accounts.add_token("glpi", Right.LINKS),
    )
    assert accounts.token_with(own) == ("scripts", Right.OPERATOR)
    assert accounts.disable("anna") == 1
    assert accounts.token_with(own) is None
    assert accounts.token_with(other) == ("glpi", Right.LINKS)
    assert accounts.disable("anna", disabled=False) == 0
    assert accounts.token_with(own) is None, "it stays revoked"
    assert [(one.name, one.owner, one.revoked_at is None) for one in accounts.tokens()] == [
        ("glpi", None, True),
        ("scripts", "anna", False),
    ]


@pytest.mark.promise("SEC-73")
def test_a_token_may_do_no_more_than_its_owner(accounts: AccountStore) -> None:
    with pytest.raises(AccountRefused, check=says(AccessRefusal.TOKEN_EXCEEDS_OWNER, name="carl")):
        accounts.add_token("scripts", Right.OPERATOR, "carl")
    token = accounts.add_token("scripts", Right.OPERATOR, "anna")
    links = accounts.add_token("links", Right.LINKS, "anna")
    accounts.set_right("anna", Right.VIEWER)
    assert accounts.token_with(token) == ("scripts", Right.VIEWER)
    assert accounts.token_with(links) == ("links", Right.LINKS)
    accounts.disable("anna")
    with pytest.raises(AccountRefused, check=says(AccessRefusal.ACCOUNT_SHUT, name="anna")):
        accounts.add_token("more", Right.VIEWER, "anna")
