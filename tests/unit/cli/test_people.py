"""`user map`, `user list` and `metadata sync`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, count, repeat
from typing import Any

import pytest
from pydantic import SecretStr

from shared.connection.connector import Connector
from shared.errors import TrackerClosed
from shared.events.config import PluginConfig
from shared.events.snapshots import HelpdeskUser
from shared.redis import examination, locks
from shared.store.configuration.matching import TrackerPerson
from shared.store.tables.journal import EventState
from shared.tracker.answers import Answer
from shared.tracker.client import Target, TrackerClient
from shared.tracker.lists import PAGE_SIZE
from tests.support.events import task_event
from tests.unit.cli.conftest import Shell


def user(number: int, **changes: Any) -> dict[str, Any]:
    """Return a user as the tracker lists it."""
    row = {
        "id": number,
        "login": f"user{number:03}",
        "firstname": "First",
        "lastname": str(number),
        "mail": f"user{number}@example.test",
    }
    return {**row, **changes}


LISTS = {
    "/projects.json": [{"id": 1, "name": "Support", "identifier": "support", "status": 1}],
    "/trackers.json": [{"id": 1, "name": "Bug"}, {"id": 2, "name": "Feature"}],
    "/issue_statuses.json": [{"id": 1, "name": "New"}, {"id": 5, "name": "Closed", "is_closed": True}],
    "/enumerations/issue_priorities.json": [{"id": 2, "name": "Normal"}],
    "/enumerations/time_entry_activities.json": [
        {"id": 9, "name": "Development", "active": True},
        {"id": 12, "name": "Legacy", "active": False},
    ],
    "/roles.json": [{"id": 4, "name": "Developer"}],
    "/custom_fields.json": [],
    "/projects/1/issue_categories.json": [{"id": 7, "name": "Hardware"}],
}


class FakeTracker(TrackerClient):
    """A tracker whose users may change, also while they are read, and which may fail at an offset."""

    def __init__(self, users: list[dict[str, Any]]) -> None:
        super().__init__(Target("http://tracker.invalid", SecretStr("key")))
        self.users = users
        self.fails_at: int | None = None
        self.totals: Iterator[int] | None = None

    def call(
        self, method: str, path: str, *, params: Mapping[str, str | int] | None = None, **_: Any
    ) -> Answer:
        """Answer a GET."""
        assert method == "GET"
        if path != "/users.json":
            name = path.rpartition("/")[2].removesuffix(".json")
            rows = LISTS[path]
            return Answer(200, {name: rows, "total_count": len(rows)}, None)
        offset = int((params or {}).get("offset", 0))
        if self.fails_at == offset:
            raise TrackerClosed("GET", path, status=401)
        total = next(self.totals) if self.totals else len(self.users)
        return Answer(200, {"users": self.users[offset : offset + PAGE_SIZE], "total_count": total}, None)


@pytest.fixture
def tracker(monkeypatch: pytest.MonkeyPatch) -> FakeTracker:
    """Return the fake tracker to which commands connect."""
    fake = FakeTracker([user(number) for number in range(1, 251)])
    monkeypatch.setattr(Connector, "connect", lambda _self: (PluginConfig(), fake))
    return fake


def cached(shell: Shell) -> dict[int, TrackerPerson]:
    """Return the cached tracker users by their id."""
    with shell.store.transaction() as tx:
        return {person.tracker_user_id: person for person in tx.people.cached()}


def test_every_page_of_users_is_read(shell: Shell, tracker: FakeTracker) -> None:
    tracker.users[0] = user(1, admin=True, mail="")
    told = shell.do("metadata", "sync")
    assert "250 users: 250 added" in told
    assert "1 categories: 1 added" in told
    people = cached(shell)
    assert len(people) == 250
    assert people[1] == TrackerPerson(1, "user001", "First 1", None, admin=True)
    assert people[250].mail == "user250@example.test"


def test_only_differences_are_told(shell: Shell, tracker: FakeTracker) -> None:
    shell.do("metadata", "sync")
    tracker.users[:2] = [user(1, mail="new@example.test"), user(251)]
    told = shell.ask("metadata", "sync")
    assert told.pop("users") == {
        "total": 250,
        "added": ["user251"],
        "changed": ["user001"],
        "removed": ["user002"],
    }
    assert told.pop("issue_types") == {"total": 2, "added": [], "changed": [], "removed": []}
    assert set(told) == {
        "projects",
        "statuses",
        "priorities",
        "activities",
        "roles",
        "categories",
        "custom_fields",
    }


@pytest.mark.parametrize("fails_at", [0, 100])
def test_a_failure_on_any_page_leaves_the_cache_as_it_was(
    shell: Shell, tracker: FakeTracker, fails_at: int
) -> None:
    shell.do("metadata", "sync")
    before = cached(shell)
    tracker.users, tracker.fails_at = [user(900 + number) for number in range(150)], fails_at
    assert "Redmine rejects every call" in shell.fail("metadata", "sync")
    assert cached(shell) == before


def test_a_list_that_changes_while_it_is_read_is_read_again(shell: Shell, tracker: FakeTracker) -> None:
    tracker.totals = chain([250, 251], repeat(250))
    shell.do("metadata", "sync")
    assert len(cached(shell)) == 250


def test_a_list_that_never_holds_still_is_given_up(shell: Shell, tracker: FakeTracker) -> None:
    tracker.totals = count(250)
    assert "the list changed while deskbridge was reading it" in shell.fail("metadata", "sync")
    assert cached(shell) == {}


@pytest.mark.parametrize("users", [[], [{"id": 5}], [{"login": "x"}]])
def test_a_list_that_cannot_be_right_is_refused(
    shell: Shell, tracker: FakeTracker, users: list[dict[str, Any]]
) -> None:
    shell.do("metadata", "sync")
    tracker.users = users
    assert "no clear answer from Redmine" in shell.fail("metadata", "sync")
    assert len(cached(shell)) == 250


def test_without_an_address_or_key_it_says_how_to_set_them(shell: Shell) -> None:
    assert "config set base_url" in shell.fail("metadata", "sync")
    shell.do("config", "set", "base_url=https://tracker.example")
    assert "config set-api-key" in shell.fail("metadata", "sync")


def test_a_user_can_be_mapped_before_anything_is_known_of_the_tracker(shell: Shell) -> None:
    result = shell.type("user", "map", "7", "5")
    assert result.exit_code == 0
    assert "deskbridge metadata sync" in result.stderr
    with shell.store.transaction() as tx:
        assert tx.people.overrides() == {7: 5}


def test_a_filled_cache_refuses_an_unknown_tracker_user(shell: Shell, tracker: FakeTracker) -> None:
    assert tracker
    shell.do("metadata", "sync")
    assert "user005" in shell.do("user", "map", "7", "5")
    assert "and 240 more" in shell.fail("user", "map", "7", "999")
    with shell.store.transaction() as tx:
        assert tx.people.overrides() == {7: 5}


def test_users_lists_whom_events_named_and_who_they_are(shell: Shell, tracker: FakeTracker) -> None:
    tracker.users[0] = user(1, mail="Alice@example.test")
    shell.do("metadata", "sync")
    assert "No event" in shell.do("user", "list")
    with shell.store.transaction() as tx:
        tx.people.note_seen([HelpdeskUser(id=7, email="alice@example.test"), HelpdeskUser(id=8, email=None)])
        tx.people.note_seen([HelpdeskUser(id=7, email=None), HelpdeskUser(id=9, email="x@example.test")])
    shell.do("user", "map", "9", "5")
    found = {one["helpdesk_user_id"]: (one["by"], one["login"]) for one in shell.ask("user", "list")}
    assert found == {7: ("e-mail", "user001"), 8: (None, None), 9: ("override", "user005")}
    assert [one["helpdesk_user_id"] for one in shell.ask("user", "list")] == [8, 7, 9]
    assert "no mapping and no e-mail" in " ".join(shell.do("user", "list").split())
    shell.do("user", "unmap", "9")
    assert "has no mapping" in shell.fail("user", "unmap", "9")


def test_an_erasure_also_deletes_what_the_doctor_found_last_which_can_name_the_person(shell: Shell) -> None:
    redis = locks.make_redis(None, lambda: "")  # type: ignore[arg-type]
    examination.keep(redis, [{"check": "people", "params": {"email": "alice@example.test"}}])
    shell.end(shell.receive(task_event()), EventState.DONE, "sent")
    shell.do("user", "forget", "7")
    assert examination.kept(redis) is None


def test_an_erasure_says_how_the_data_would_come_back(shell: Shell) -> None:
    shell.end(shell.receive(task_event()), EventState.DONE, "sent")
    told = shell.do("user", "forget", "7")
    assert "still exists in Redmine comes back at the next metadata sync" in told
