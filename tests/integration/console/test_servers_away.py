"""While PostgreSQL restarts or Redis is away, pages say so within bounded time, and work again afterwards."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest
import requests

from deploy.embedded.postgres import PostgresServer
from deploy.embedded.redis import RedisServer
from deploy.sandbox.tracker.control import StandIn
from producer.admin.access.accounts import AccountStore
from producer.admin.records.rights import Right
from producer.console.app import create_console
from shared.store.tables.journal import EventState
from tests.browser.pages import PAGES, filled
from tests.integration.console.pages import PASSWORD, SAME_ORIGIN, Visitor
from tests.support.bridge import Bridge
from tests.support.serving import Served

BOUND_S = 15.0
"""The longest time that a page may take while a server refuses connections."""

FROZEN_S = 20.0
"""The longest time that a page may take while a server accepts connections but never answers."""

UNKNOWN = ("/tickets/99", "/nowhere")


@pytest.fixture
def console(bridge_on_postgresql: Bridge, stand_in: StandIn) -> Iterator[Served]:
    filled(bridge_on_postgresql, stand_in)
    AccountStore(bridge_on_postgresql.store).add("claire", PASSWORD, Right.ADMINISTRATOR)
    running = Served(create_console(bridge_on_postgresql.settings))
    running.start()
    yield running
    running.stop()


@pytest.fixture
def visitor(console: Served) -> Iterator[Visitor]:
    made = Visitor(console.base_url)
    made.sign_in("claire")
    made.open("/console")
    yield made
    made.close()


def ask(visitor: Visitor, path: str, within: float = BOUND_S) -> requests.Response:
    """Load a page, and check that it answers in time."""
    began = time.monotonic()
    answer = visitor.http.get(visitor.base_url + path, headers=SAME_ORIGIN, timeout=60)
    assert time.monotonic() - began < within, path
    return answer


@pytest.mark.slow
def test_pages_say_that_the_database_is_away_and_work_again_when_it_is_back(
    visitor: Visitor, postgres_server: PostgresServer
) -> None:
    paths = [f"/console{path}" for path in PAGES if path not in UNKNOWN]
    postgres_server.stop()
    for path in paths:
        answer = ask(visitor, path)
        assert answer.status_code == 503, path
        assert "Cannot use the database" in answer.text
        assert "Events are still received" not in answer.text, "the producer refuses it meanwhile"
        assert "GLPI sends them again" in answer.text
        assert "Try again" in answer.text
        assert answer.headers["Content-Security-Policy"]
        assert answer.headers["Retry-After"] == "20"
    postgres_server.start()
    for path in paths:
        assert ask(visitor, path).status_code == 200, "the same session, and no restart"


@pytest.mark.slow
def test_a_form_that_meets_a_restart_says_so_and_may_be_sent_again(
    visitor: Visitor, postgres_server: PostgresServer, bridge_on_postgresql: Bridge
) -> None:
    visitor.open("/console/tickets/4712")
    postgres_server.stop()
    refused = visitor.send("/console/tickets/4712/replay")
    assert refused.status_code == 503
    assert "Cannot use the database" in refused.text
    signing_in = visitor.sign_in("claire")
    assert signing_in.status_code == 503
    assert "Internal error" not in signing_in.text
    postgres_server.start()
    assert "did=replayed" in visitor.do("/console/tickets/4712/replay"), "the form is still good"
    bridge_on_postgresql.store.database.close()  # the test's own connections broke, too
    with bridge_on_postgresql.store.transaction() as tx:
        assert tx.journal.count(EventState.FAILED) == 0


@pytest.mark.slow
def test_connections_that_broke_are_no_reason_to_fail_once_the_database_is_back(
    visitor: Visitor, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "shared.store.tables.database.IDLE_S", -1.0
    )  # as after several seconds without a single request
    postgres_server.restart()
    for path in ("/console", "/console/events", "/console/settings"):
        assert ask(visitor, path).status_code == 200, path


@pytest.mark.slow
def test_without_redis_every_page_works_and_what_needs_it_says_so(
    visitor: Visitor, redis_server: RedisServer
) -> None:
    visitor.open("/console/settings")
    redis_server.stop()
    for path in PAGES:
        assert ask(visitor, f"/console{path}").status_code == (404 if path in UNKNOWN else 200), path
    assert "Redis" in visitor.open("/console")
    assert "redis" in visitor.open("/console/doctor")
    reading = visitor.send("/console/settings/metadata")
    assert reading.status_code in (502, 503)
    assert "Redis" in reading.text
    began = time.monotonic()
    assert "did=replayed" in visitor.do("/console/tickets/4712/replay"), "the sweep rings later"
    assert time.monotonic() - began < BOUND_S
    redis_server.start()
    assert "Redis" not in visitor.open("/console")


@pytest.mark.slow
def test_a_redis_that_does_not_answer_keeps_no_page_waiting_for_long(
    visitor: Visitor, redis_server: RedisServer
) -> None:
    redis_server.child.send_signal(signal.SIGSTOP)
    try:
        for path in ("", "/events", "/settings"):
            assert ask(visitor, f"/console{path}", within=FROZEN_S).status_code == 200, path
    finally:
        redis_server.child.send_signal(signal.SIGCONT)
