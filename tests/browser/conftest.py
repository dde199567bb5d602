"""The console in Debian's Chromium, through Playwright. Without it the tests are skipped; in CI they fail."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import argon2
import pytest
from playwright.sync_api import expect
from sqlalchemy import update

from producer.admin.access.accounts import AccountStore
from producer.admin.records.rights import Right
from producer.console.app import create_console
from shared.metadata.synchronisation import synchronise
from shared.process.itself import Process
from shared.store.tables.journal import ProducerSign
from tests.support.bridge import Bridge
from tests.support.serving import Served

PASSWORD = "correct horse battery staple"
SLOW_MS = 60_000  # for steps that wait for the tracker, or for a page to refresh itself
SOON_MS = 30_000  # for everything else: the browser and the servers share a busy machine
expect.set_options(timeout=SOON_MS)
CHROMIUMS = ("chromium-headless-shell", "chromium")
FOUND = next((path for name in CHROMIUMS if (path := shutil.which(name))), None)
pytest_plugins = ["tests.integration.conftest"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip these tests if there is no Chromium, except in CI, where they must run."""
    if FOUND or os.environ.get("CI"):
        return
    for item in items:
        if "tests/browser" in str(item.path):
            item.add_marker(pytest.mark.skip(reason=f"needs one of {', '.join(CHROMIUMS)} (apt install)"))


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    """Launch Debian's Chromium."""
    return {"executable_path": FOUND, "args": ["--no-sandbox"]}


@pytest.fixture(autouse=True)
def _calls_beside_playwright(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test call the tracker although Playwright runs a loop in this thread; that loop may block meanwhile."""
    monkeypatch.setattr("shared.tracker.portal._is_on_a_loop", lambda: False)


@pytest.fixture
def console(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A console for the test's bridge with a producer, and with an administrator, an operator and a viewer."""
    with bridge.store.transaction() as tx:
        tx.producers.mark("here:8080", Process.here(), [])
    with bridge.store.database.transaction() as session:  # it runs for as long as the test takes
        session.execute(update(ProducerSign).values(seen_at=datetime.now(UTC) + timedelta(days=1)))
    monkeypatch.setattr(
        argon2, "PasswordHasher", partial(argon2.PasswordHasher, time_cost=1, memory_cost=8, parallelism=1)
    )
    accounts = AccountStore(bridge.store)
    for right in (Right.VIEWER, Right.OPERATOR, Right.ADMINISTRATOR):
        accounts.add(str(right), PASSWORD, right)
    running = Served(create_console(bridge.settings))
    running.start()
    services = running.app.state.services
    assert synchronise(services.store, services.locks, services.connector.connect)
    yield running
    running.stop()


@pytest.fixture
def page(browser: Any, console: Served) -> Iterator[Any]:
    """A page; any message in the browser's console, such as a policy violation, fails the test."""
    said: list[str] = []
    context = browser.new_context(base_url=console.base_url)
    page = context.new_page()
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    context.close()
    # the browser logs every error response by itself, including those that a test provokes
    assert [one for one in said if "the server responded with a status of" not in one] == []


@pytest.fixture
def sign_in(page: Any) -> Any:
    """Return a function that signs in as an account."""

    def sign_in(name: str = "administrator") -> None:
        page.goto("/console/sign-in")
        # if a script fills the field before the page's autofocus takes effect, the browser notes that it was blocked
        expect(page.get_by_label("Name")).to_be_focused()
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Overview").wait_for()

    return sign_in
