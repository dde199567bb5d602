"""The metadata synchronisation over the stand-in: all or nothing (SPEC 1.3, 4.2, section 7)."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import SecretStr
from redis import Redis

from deploy.embedded.ports import free_port
from deploy.sandbox.tracker.control import StandIn
from deploy.sandbox.tracker.seed import user_key
from shared.connection.connector import Connector
from shared.connection.vault import Vault
from shared.errors import TrackerClosed
from shared.metadata.reading import MOST_REPEATS
from shared.metadata.synchronisation import MetadataResult, refresh, synchronise
from shared.redis.locks import LONGEST_HELD_S, Locks
from shared.store.configuration.matching import TrackerPerson
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.tracker.answers import Answer
from shared.tracker.client import TrackerClient
from shared.tracker.lists import TrackerLists
from tests.support.bridge import Bridge
from tests.support.events import ALICE, BOB, task, task_event, ticket, ticket_event

USERS, PROJECTS = 1200, 120


@pytest.fixture(scope="module")
def large_process() -> Iterator[StandIn]:
    """A stand-in with 1,200 more users and 120 more projects."""
    arguments = ["--extra-users", str(USERS), "--extra-projects", str(PROJECTS)]
    with StandIn(arguments=arguments) as stand_in:
        yield stand_in


@pytest.fixture
def large(large_process: StandIn) -> StandIn:
    """The large stand-in in its seeded state."""
    large_process.reset()
    return large_process


@pytest.fixture
def desk(large: StandIn, bridge: Bridge) -> Bridge:
    """A deskbridge connected to the large stand-in."""
    bridge.configure(base_url=large.base_url)
    return bridge


def sync(bridge: Bridge, progress: Any = None) -> MetadataResult:
    """Synchronise the metadata as a process does."""
    connector = Connector(bridge.store, Vault(bridge.settings.secret_keys))
    return synchronise(bridge.store, Locks(bridge.redis, 60), connector.connect, progress)


def lists(bridge: Bridge) -> TrackerLists:
    """Return the tracker's lists."""
    _, client = Connector(bridge.store, Vault(bridge.settings.secret_keys)).connect()
    return TrackerLists(client)


def names(bridge: Bridge, kind: MetadataKind) -> dict[int, str]:
    """Return the cached names of a kind, by id."""
    with bridge.store.transaction() as tx:
        return {entry.tracker_id: entry.name for entry in tx.metadata.of_kind(kind)}


def whole_cache(bridge: Bridge) -> tuple[Any, dict[tuple[str, int], Entry]]:
    """Return all cached data."""
    with bridge.store.transaction() as tx:
        return list(tx.people.cached()), tx.metadata.all()


def test_every_row_is_cached_and_nothing_that_cannot_be_used(desk: Bridge, large: StandIn) -> None:
    large.patch("projects", 2, name="Café 🚒 публичный")
    large.patch("users", 6, firstname="Bøb 🐝")
    result = sync(desk)
    assert result
    with desk.store.transaction() as tx:
        people = {person.login: person for person in tx.people.cached()}
        field = tx.metadata.get(MetadataKind.CUSTOM_FIELD, 4)
        child = tx.metadata.get(MetadataKind.PROJECT, 3)
    assert len(people) == USERS + 6
    assert "dave" not in people
    assert people["bob"].name == "Bøb 🐝 Baker"
    projects = names(desk, MetadataKind.PROJECT)
    assert len(projects) == PROJECTS + 5
    assert projects[2] == "Café 🚒 публичный"
    assert not {6, 7} & projects.keys()
    assert names(desk, MetadataKind.CATEGORY) == {1: "Hardware", 2: "Software", 3: "Other category"}
    assert names(desk, MetadataKind.ROLE) == {3: "Manager", 4: "Developer", 5: "Reporter"}
    assert names(desk, MetadataKind.CUSTOM_FIELD).keys() == {1, 2, 3, 4, 5}
    assert child
    assert child.details == {"identifier": "support-child", "parent_id": 1, "is_public": False}
    assert field
    assert field.details["customized_type"] == "issue"
    assert [one["value"] for one in field.details["possible_values"]] == ["Phone", "Mail", "Portal"]


HOSTILE_LOGINS = ["mallory\r\nX-Redmine-API-Key: x", "ali\x01ce", "alice\n", " alice", "alice\t", "a" * 300]


@pytest.mark.promise("SEC-45")
@pytest.mark.parametrize("login", HOSTILE_LOGINS)
def test_somebody_whose_login_no_header_can_have_is_left_out_and_nobody_else(
    bridge: Bridge, stand_in: StandIn, login: str
) -> None:
    stand_in.patch("users", 6, login=login)
    assert sync(bridge)
    with bridge.store.transaction() as tx:
        cached = {person.tracker_user_id: person.login for person in tx.people.cached()}
    assert 6 not in cached
    assert cached[5] == "alice"


@pytest.mark.promise("SEC-45")
@pytest.mark.parametrize("login", [*HOSTILE_LOGINS, "\ud800"])
def test_a_cached_login_that_no_header_can_have_pauses_nobody(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, login: str
) -> None:
    hostile = TrackerPerson(5, login, "Alice Archer", "alice@example.test")
    monkeypatch.setattr("shared.store.configuration.matching.person_of", lambda _: hostile)
    assert bridge.forward(task_event()) == ["done"]
    assert bridge.breaker.current() is None
    assert [one["user_id"] for one in stand_in.state()["time_entries"]] == [1], "the administrator's"


def test_exactly_the_calls_of_the_specification_are_made_users_first(desk: Bridge, large: StandIn) -> None:
    since = len(large.requests())
    sync(desk)
    calls = large.requests()[since:]
    assert calls[0]["path"] == "/users.json"
    assert {call["method"] for call in calls} == {"GET"}
    paths = {call["path"] for call in calls}
    assert {path for path in paths if not path.endswith("issue_categories.json")} == {
        "/users.json",
        "/projects.json",
        "/trackers.json",
        "/issue_statuses.json",
        "/enumerations/issue_priorities.json",
        "/enumerations/time_entry_activities.json",
        "/roles.json",
        "/custom_fields.json",
    }
    assert "/projects/6/issue_categories.json" not in paths


def test_a_second_run_writes_only_differences_and_tells_them(desk: Bridge, large: StandIn) -> None:
    sync(desk)
    large.patch("projects", 4, name="Another team")
    large.patch("users", 7, status=3)
    result = sync(desk)
    assert (result.parts["projects"].changed, result.parts["projects"].added) == (["Another team"], [])
    assert result.users.removed == ["carol"]
    with desk.store.transaction() as tx:
        run, first = tx.metadata.runs()
        assert (run.ok, run.reason, run.counts["projects"]) == (True, None, PROJECTS + 5)
        assert run.differences == {
            "users": {"removed": {"count": 1, "names": ["carol"]}},
            "projects": {"changed": {"count": 1, "names": ["Another team"]}},
        }
        assert first.differences["users"]["added"]["count"] > 1000
        assert run.started_at <= run.ended_at


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "status_before", "path": "/users.json", "status": 500},
        {"kind": "garbage_before", "path": "/issue_statuses.json"},
        {"kind": "garbage_before", "path": "/users.json"},
        {"kind": "truncated_after", "path": "/roles.json"},
        {"kind": "reset_before", "path": "/projects.json"},
        {"kind": "status_before", "path": "/custom_fields.json", "status": 503, "retry_after": 5},
        {"kind": "status_before", "path": "/projects/17/issue_categories.json", "status": 500},
        {"kind": "status_before", "path": "/trackers.json", "status": 302},
    ],
    ids=lambda fault: f"{fault['kind']} {fault['path']}",
)
def test_any_failure_leaves_the_old_cache_whole(desk: Bridge, large: StandIn, fault: dict[str, Any]) -> None:
    sync(desk)
    before = whole_cache(desk)
    large.patch("projects", 4, name="Another team")
    large.fault(**fault)
    result = sync(desk)
    assert not result
    assert fault["path"] in (result.error or "")
    assert whole_cache(desk) == before
    with desk.store.transaction() as tx:
        assert (tx.metadata.runs()[0].ok, tx.metadata.runs()[0].reason) == (False, result.error)


def test_a_tracker_that_dies_in_the_middle_leaves_the_old_cache_whole(bridge: Bridge) -> None:
    with StandIn(in_process=True) as dying:
        bridge.configure(base_url=dying.base_url)
        sync(bridge)
        before = whole_cache(bridge)

        def die(what: str, *_: int) -> None:
            if what == "projects":
                dying.stop()

        assert not sync(bridge, die)
        assert whole_cache(bridge) == before


@pytest.mark.parametrize("wrong", ["key", "rest", "not an administrator's"])
def test_lists_that_answer_an_invalid_key_do_not_deceive(desk: Bridge, large: StandIn, wrong: str) -> None:
    sync(desk)
    before = whole_cache(desk)
    if wrong == "rest":
        large.settings(rest_enabled=False)
    else:
        key = user_key("mallory") if wrong != "key" else "0" * 40
        with desk.store.transaction() as tx:
            tx.configs.put_api_key(Vault(desk.settings.secret_keys).encrypt(SecretStr(key)))
    since = len(large.requests())
    result = sync(desk)
    assert not result
    assert "Redmine rejects every call" in (result.error or "")
    which_of_the_two = ["/users/current.json"] if wrong != "key" else []
    assert [call["path"] for call in large.requests()[since:]] == ["/users.json", *which_of_the_two]
    assert whole_cache(desk) == before


def test_a_key_that_is_revoked_in_the_middle_is_noticed(desk: Bridge, large: StandIn) -> None:
    sync(desk)
    before = whole_cache(desk)

    def revoke(what: str, so_far: int, _total: int) -> None:
        if what == "categories of projects" and so_far == 1:
            large.settings(rest_enabled=False)

    assert not sync(desk, revoke)
    assert whole_cache(desk) == before


def test_one_kind_is_read_afresh_and_nothing_else(bridge: Bridge, stand_in: StandIn) -> None:
    sync(bridge)
    before = whole_cache(bridge)
    closed, gone = (MetadataKind.STATUS, 5), Entry(MetadataKind.STATUS, 99, "deleted on the tracker")
    with bridge.store.transaction() as tx:
        tx.metadata.remove([closed])
        tx.metadata.put([gone, Entry(MetadataKind.ROLE, 99, "Another kind")])
    since = len(stand_in.requests())
    refresh(bridge.store, lists(bridge), MetadataKind.STATUS)
    calls = [one["path"] for one in stand_in.requests()[since:]]
    assert calls == ["/users.json", "/issue_statuses.json", "/users.json"]
    _, now = whole_cache(bridge)
    assert now.pop((MetadataKind.ROLE, 99)).name == "Another kind"
    assert now == before[1]


def test_with_a_refused_key_no_kind_is_read_afresh(bridge: Bridge, stand_in: StandIn) -> None:
    sync(bridge)
    before = whole_cache(bridge)
    stand_in.settings(rest_enabled=False)
    with pytest.raises(TrackerClosed):
        refresh(bridge.store, lists(bridge), MetadataKind.STATUS)
    assert whole_cache(bridge) == before


def test_a_list_that_changes_under_paging_is_read_again(desk: Bridge, large: StandIn) -> None:
    locked: list[str] = []

    def lock_one(what: str, so_far: int, total: int) -> None:
        if what == "users" and 100 < so_far < total and not locked:
            locked.append("alice")
            large.patch("users", 5, status=3)

    assert sync(desk, lock_one)
    with desk.store.transaction() as tx:
        logins = {person.login for person in tx.people.cached()}
    assert "alice" not in logins
    assert len(logins) == USERS + 5


def test_a_list_that_never_holds_still_is_given_up(
    desk: Bridge, large: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list is read page by page: concurrent reads might all fall between two changes."""
    monkeypatch.setattr("shared.tracker.lists.LONG_ANSWERS", 1)
    sync(desk)
    before = whole_cache(desk)
    states = iter(range(10_000))

    def change(what: str, so_far: int, total: int) -> None:
        if what == "users" and 100 < so_far < total:
            large.patch("users", 5, status=1 + 2 * (next(states) % 2))

    result = sync(desk, change)
    assert not result
    assert "the list changed while deskbridge was reading it" in (result.error or "")
    assert whole_cache(desk) == before


def test_a_few_lost_answers_are_read_again_many_are_not(desk: Bridge, large: StandIn) -> None:
    def lose(answers: int) -> None:
        for project_id in range(8, 8 + answers):
            large.fault("reset_before", path=f"/projects/{project_id}/.*", count=1)

    lose(MOST_REPEATS)
    assert sync(desk)
    lose(MOST_REPEATS + 1)
    assert not sync(desk)


def test_a_project_without_the_issue_module_has_no_categories_and_spoils_nothing(
    desk: Bridge, large: StandIn
) -> None:
    large.patch("projects", 4, modules=["time_tracking"])
    assert sync(desk)
    assert names(desk, MetadataKind.CATEGORY) == {1: "Hardware", 2: "Software"}


def test_two_runs_never_overlap(desk: Bridge, large: StandIn) -> None:
    large.settings(latency_ms=5)
    results: list[MetadataResult] = []
    threads = [threading.Thread(target=lambda: results.append(sync(desk))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(bool, results)) == [False, True]
    assert [one.busy for one in results if not one] == [True]
    with desk.store.transaction() as tx:
        assert len(tx.metadata.runs()) == 1


def test_a_run_may_take_as_long_as_it_gets_on(bridge: Bridge) -> None:
    """With a low rate limit it takes over an hour, but a run that hangs loses its lock sooner."""
    locks, kept = Locks(bridge.redis, 60), list[bool]()

    def long(*_: object) -> None:
        kept.append(bool(locks._kept()))
        for one in locks._held:
            one.looked_at -= LONGEST_HELD_S * 0.6

    connector = Connector(bridge.store, Vault(bridge.settings.secret_keys))
    assert synchronise(bridge.store, locks, connector.connect, long)
    assert len(kept) > 2
    assert all(kept)


def test_a_run_whose_lock_is_lost_under_way_has_failed(bridge: Bridge) -> None:
    """No other process is known to be running it: a failure is recorded, and the next try waits a while."""
    locks = Locks(bridge.redis, 60)

    def lose(*_: object) -> None:
        for one in locks._held:
            one.renewed_at = -math.inf

    connector = Connector(bridge.store, Vault(bridge.settings.secret_keys))
    result = synchronise(bridge.store, locks, connector.connect, lose)
    assert not result
    assert not result.busy
    with bridge.store.transaction() as tx:
        assert [(one.ok, one.reason) for one in tx.metadata.runs()] == [(False, result.error)]


def test_activities_of_each_project_are_read_where_that_is_switched_on(
    bridge: Bridge, stand_in: StandIn
) -> None:
    sync(bridge)
    bridge.configure(project_activities=True)
    result = sync(bridge)
    assert "Support" in result.parts["projects"].changed
    with bridge.store.transaction() as tx:
        project = tx.metadata.get(MetadataKind.PROJECT, 1)
    assert project
    assert project.details["activity_ids"] == [8, 9, 11]
    assert any("time_entry_activities" in call["query"] for call in stand_in.requests())


def test_a_total_that_cannot_be_right_is_refused(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    def call(_self: TrackerClient, _method: str, _path: str, **_: Any) -> Answer:
        return Answer(200, {"users": [{"id": 1, "login": "admin"}], "total_count": 10**12}, None)

    monkeypatch.setattr(TrackerClient, "call", call)
    assert "total_count" in (sync(bridge).error or "")


def test_whom_events_name_is_remembered_with_the_newest_e_mail(bridge: Bridge) -> None:
    bridge.forward(task_event(1), task_event(2, of_task=task(513, user=BOB)))
    bridge.forward(ticket_event(3, of_ticket=ticket(technician={**ALICE, "email": "new@example.test"})))
    with bridge.store.transaction() as tx:
        assert [(one.id, one.email) for one in tx.people.seen()] == [
            (ALICE["id"], "new@example.test"),
            (BOB["id"], BOB["email"]),
        ]


def test_without_redis_nothing_is_read(bridge: Bridge, stand_in: StandIn) -> None:
    down = Locks(Redis(port=free_port(), socket_connect_timeout=1), 60)
    connector = Connector(bridge.store, Vault(bridge.settings.secret_keys))
    result = synchronise(bridge.store, down, connector.connect)
    assert "Redis" in (result.error or "")
    assert stand_in.requests() == []
