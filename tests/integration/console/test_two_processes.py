"""Two console processes behind a proxy share their state: a session of one is valid at the other."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.access.accounts import AccountStore
from producer.admin.configuration import metadata
from producer.admin.records.rights import Right
from producer.admin.records.transaction import Store
from producer.console.app import create_console
from producer.console.pages import settings
from shared.metadata.synchronisation import LOCK, under_way
from shared.redis.keys import key_of
from shared.redis.locks import PREFIX, Locks
from shared.tracker.answers import Answer
from shared.tracker.client import USERS, TrackerClient
from tests.integration.console.pages import PASSWORD, Visitor
from tests.support.bridge import Bridge
from tests.support.events import task_event
from tests.support.serving import Served
from tests.support.waiting import until


@pytest.fixture
def consoles(bridge: Bridge) -> Iterator[list[Served]]:
    """Two applications over one database, each with its own connections."""
    AccountStore(bridge.store).add("claire", PASSWORD, Right.ADMINISTRATOR)
    running = [Served(create_console(bridge.settings)) for _ in range(2)]
    for one in running:
        one.start()
    yield running
    for one in running:
        one.stop()


@pytest.fixture
def visitor(consoles: list[Served]) -> Iterator[Visitor]:
    made = Visitor(consoles[0].base_url)
    made.sign_in("claire")
    yield made
    made.close()


def swap(visitor: Visitor, consoles: list[Served]) -> None:
    """Route the visitor's next requests to the other process, as a proxy would."""
    visitor.base_url = next(one.base_url for one in consoles if one.base_url != visitor.base_url)


def test_every_request_may_go_to_the_other_process(
    visitor: Visitor, consoles: list[Served], bridge: Bridge
) -> None:
    bridge.configure(default_activity_id=77)
    bridge.forward(task_event())
    for path in ("", "/events", "/tickets/4711", "/settings", "/access"):
        swap(visitor, consoles)
        visitor.open(f"/console{path}")
    swap(visitor, consoles)
    assert "did=replayed" in visitor.do("/console/tickets/4711/replay"), "a form of one, sent to the other"
    swap(visitor, consoles)
    assert "replayed" in visitor.open("/console/changes")


def test_a_reading_of_the_metadata_at_one_is_seen_at_the_other(
    visitor: Visitor, consoles: list[Served], bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on, call = threading.Event(), TrackerClient.call
    asked: list[str] = []

    def slowly(self: TrackerClient, method: str, path: str, **more: Any) -> Answer:
        asked.append(path)
        assert path == USERS or may_go_on.wait(90)
        return call(self, method, path, **more)

    monkeypatch.setattr(TrackerClient, "call", slowly)
    monkeypatch.setattr(settings, "SOON_S", 0.01)
    visitor.open("/console/settings")
    assert visitor.do("/console/settings/metadata") == "/console/settings?did=reading#metadata"
    swap(visitor, consoles)
    while "users: 6 of 6" not in visitor.open("/console/settings"):
        assert "deskbridge is reading it now" in visitor.open("/console/settings") or not asked
    monkeypatch.setattr(settings, "SOON_S", 60)  # until it notices that another reading is under way
    assert visitor.do("/console/settings/metadata") == "/console/settings?did=reading#metadata"
    may_go_on.set()
    while "deskbridge is reading it now" in (page := visitor.open("/console/settings")):
        swap(visitor, consoles)
    assert re.search("Changes found.*projects: \\d+ added", page)
    assert asked.count("/projects.json") == 1, "the second did not begin another"
    while "claireread Redmine's metadata" not in visitor.open("/console/changes"):
        assert "deskbridge is reading it now" not in visitor.open("/console/settings")


def test_a_page_that_is_made_while_a_reading_ends_does_not_show_what_was_before_as_all_there_is(
    visitor: Visitor, bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on, call, cached = threading.Event(), TrackerClient.call, metadata.cached

    def slowly(self: TrackerClient, method: str, path: str, **more: Any) -> Answer:
        assert may_go_on.wait(90)
        return call(self, method, path, **more)

    def and_then_it_ends(store: Store) -> Any:
        before = cached(store)
        may_go_on.set()
        until(lambda: not under_way(Locks(bridge.redis, 5)) and cached(store).runs)
        return before

    monkeypatch.setattr(TrackerClient, "call", slowly)
    monkeypatch.setattr(settings, "SOON_S", 0.01)
    visitor.open("/console/settings")
    assert visitor.do("/console/settings/metadata") == "/console/settings?did=reading#metadata"
    monkeypatch.setattr(settings, "cached", and_then_it_ends)
    assert "deskbridge is reading it now" in visitor.open("/console/settings")
    monkeypatch.setattr(settings, "cached", cached)
    assert "Changes found" in visitor.open("/console/settings")


def test_a_reading_that_fails_later_says_why(
    visitor: Visitor, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "SOON_S", 0.0)
    stand_in.fault("status_before", path="/projects.json", status=500, count=20)
    visitor.open("/console/settings")
    assert "did=reading" in visitor.do("/console/settings/metadata")
    while "failed" not in (page := visitor.open("/console/settings")):
        assert "Not read yet" in page
    assert "/projects.json answered 500" in page


def test_nonsense_in_redis_about_a_reading_is_no_fault(visitor: Visitor, bridge: Bridge) -> None:
    key = key_of(bridge.redis, f"{PREFIX}{LOCK}:progress")
    for nonsense in ("{", "[]", '"x"', '{"what": 5, "so_far": "x", "total": -1}', "{}"):
        bridge.redis.set(key, nonsense, px=60000)
        visitor.open("/console/settings")
    assert "deskbridge is reading it now." in visitor.open("/console/settings")
    bridge.redis.set(key, "{}")
    visitor.open("/console/settings")
    assert "deskbridge is reading it now." not in visitor.open("/console/settings"), "ours all have an end"


def test_signing_out_at_one_is_signing_out_at_the_other(visitor: Visitor, consoles: list[Served]) -> None:
    session = next(one.value for one in visitor.http.cookies)
    visitor.open("/console")
    visitor.do("/console/sign-out")
    swap(visitor, consoles)
    visitor.http.cookies.set("deskbridge_session", session or "", path="/console")
    assert "Sign in" in visitor.open("/console")


def test_a_page_that_has_not_changed_is_the_same_page_at_both(
    visitor: Visitor, consoles: list[Served]
) -> None:
    tags = []
    for _ in range(2):
        tags.append(visitor.http.get(visitor.base_url + "/console/held", timeout=10).headers["ETag"])
        swap(visitor, consoles)
    assert tags[0] == tags[1]


def test_a_stale_form_is_noticed_by_the_other_process(visitor: Visitor, consoles: list[Served]) -> None:
    visitor.open("/console/settings")
    stale = visitor.page.split('name="seen" value="')[1].split('"')[0]
    given = {"done_state": "3", "seen": stale, "verify_tls": "on"}
    visitor.do("/console/settings", given)
    swap(visitor, consoles)
    assert visitor.send("/console/settings", {**given, "done_state": "4"}).status_code == 409
