"""A running console over a deskbridge, a mock Redmine and a real Redis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import argon2
import pytest
import requests
from pydantic import SecretStr

from producer.admin.access.accounts import AccountStore
from producer.admin.records.rights import Right
from producer.console.app import create_console
from tests.integration.console.pages import PASSWORD, Visitor
from tests.support.bridge import Bridge
from tests.support.serving import Served

TOKEN = "the-token-of-the-tests"
OLD_TOKEN = "the-token-before"


class Console(Served):
    """A console on a free port."""

    def ask(self, method: str, path: str, *, token: str | None = TOKEN, **options: Any) -> requests.Response:
        """Make a request."""
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        return self.http.request(method, self.base_url + path, headers=headers, timeout=30, **options)

    def get(self, path: str) -> Any:
        """Return the JSON document at a path."""
        answer = self.ask("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def do(self, method: str, path: str, body: Any = None, status: int = 200) -> Any:
        """Make a request that changes something; return the answer's JSON."""
        answer = self.ask(method, path, json=body)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    def refused(
        self, method: str, path: str, status: int, body: Any = None, **options: Any
    ) -> dict[str, Any]:
        """Make a request that is refused; return the problem."""
        answer = self.ask(method, path, **({"json": body} if body is not None else {}), **options)
        assert answer.status_code == status, answer.text
        assert answer.headers["Content-Type"] == "application/problem+json"
        problem: dict[str, Any] = answer.json()
        assert problem["status"] == status
        assert problem["code"], "programs read the code"
        assert "Traceback" not in answer.text
        return problem


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash passwords with almost no memory: these tests hash hundreds of them."""
    cheap = partial(argon2.PasswordHasher, time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(argon2, "PasswordHasher", cheap)


@pytest.fixture
def console(bridge: Bridge) -> Iterator[Console]:
    """A console over the test's bridge."""
    tokens = (SecretStr(TOKEN), SecretStr(OLD_TOKEN))
    running = Console(create_console(bridge.settings.model_copy(update={"console_tokens": tokens})))
    running.start()
    yield running
    running.stop()


@pytest.fixture
def accounts(bridge: Bridge) -> AccountStore:
    """Accounts named after their roles."""
    made = AccountStore(bridge.store)
    for right in (Right.VIEWER, Right.OPERATOR, Right.ADMINISTRATOR):
        made.add(str(right), PASSWORD, right)
    return made


@pytest.fixture
def visitor(console: Console, accounts: AccountStore) -> Iterator[Visitor]:
    """A browser that has not signed in yet."""
    made = Visitor(console.base_url)
    yield made
    made.close()


ComeIn = Callable[..., Visitor]


@pytest.fixture
def come_in(console: Console, bridge: Bridge) -> Iterator[ComeIn]:
    """Creates an account with a role and signs a new browser in to it."""
    came: list[Visitor] = []

    def come(right: Right, name: str = "claire") -> Visitor:
        AccountStore(bridge.store).add(name, PASSWORD, right)
        came.append(Visitor(console.base_url))
        came[-1].sign_in(name)
        return came[-1]

    yield come
    for one in came:
        one.close()
