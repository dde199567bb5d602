"""The Redmine settings as an administrator types them (SPEC 2.1)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from producer.admin.configuration.configuration import change
from producer.admin.doctor import setup
from producer.admin.naming.names import Names
from producer.admin.records.transaction import Store
from producer.console.rendering.setting_pages import PARTS
from shared.errors import SettingsError
from shared.events.config import PluginConfig
from shared.notices.invalid import Invalid
from shared.store.configuration.matching import TrackerPerson
from shared.store.configuration.metadata import Entry, MetadataKind
from shared.store.tables.database import Database
from shared.values.validation import Id
from tests.support.databases import make_tables
from tests.support.documents import ROOT

ARTICLES = ROOT / "producer/admin/knowledge/records"
KNOWN, UNKNOWN = 5, 99
"""An id that exists for every kind of object in Redmine, and one that exists for none."""
HINTS = get_type_hints(PluginConfig, include_extras=True)


def holds_ids(hint: Any) -> bool:
    """Return whether a type contains Redmine ids."""
    return bool(hint == Id) or any(map(holds_ids, get_args(hint)))


OF_IDS = sorted(name for name, hint in HINTS.items() if holds_ids(hint))
NOT_CONFIRMED = {"template_role_ids"}
"""It only limits the roles that a template may use; a body with another role is refused when sent."""


def holding(name: str, tracker_id: int) -> Any:
    """Return a value for a setting that contains this id."""
    origins = {get_origin(PluginConfig.model_fields[name].annotation)}
    if dict in origins:
        return {"1": tracker_id}
    return [tracker_id] if tuple in origins else tracker_id


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return a store whose metadata cache has one id of each kind."""
    database = Database(f"sqlite:///{tmp_path}/desk.sqlite3")
    make_tables(database)
    made = Store(database)
    with made.transaction() as tx:
        tx.metadata.put([Entry(kind, KNOWN, f"The {kind}") for kind in MetadataKind])
        tx.people.replace_cache([TrackerPerson(KNOWN, "alice", "The user")])
    yield made
    database.close()


def refusal(**assignments: str) -> str:
    with pytest.raises(SettingsError) as failure:
        PluginConfig().changed(assignments)
    return str(failure.value)


def test_the_keys_are_those_of_the_contract() -> None:
    assert set(PluginConfig.model_fields) >= {
        "base_url", "header_prefix", "default_tracker_id", "default_priority_id", "default_activity_id",
        "default_role_id", "default_watcher_ids", "status_map", "done_state", "in_doubt_policy", "verify_tls",
        "project_activities", "membership_for", "template_role_ids", "match_administrators", "text_formatting",
        "spent_on", "private_tasks", "correct_authors", "trial", "sync_followups",
        "sync_solutions", "sync_documents", "document_max_mb", "document_refused_types", "deleted_status_id",  # ours
    }  # fmt: skip
    assert PluginConfig().done_state == 2
    assert PluginConfig().in_doubt_policy == "lookup"


def test_every_setting_is_on_a_page() -> None:
    placed = sorted(name for names in PARTS.values() for name in names)
    assert placed == sorted(set(PluginConfig.model_fields) - {"trial"}), "trial mode has a form of its own"


@pytest.mark.parametrize("name", OF_IDS)
def test_ids_in_a_setting_are_confirmed(store: Store, name: str) -> None:
    change(store, {name: json.dumps(holding(name, KNOWN))})
    unknown = {name: json.dumps(holding(name, UNKNOWN))}
    if name in NOT_CONFIRMED:
        change(store, unknown)
        return
    with pytest.raises(SettingsError, match=f"{name}: .*{UNKNOWN}.*{KNOWN}"):
        change(store, unknown)


@pytest.mark.parametrize("name", OF_IDS)
def test_ids_in_a_setting_are_shown_with_names(store: Store, name: str) -> None:
    assert f"{KNOWN} (The " in str(Names(store).value(name, holding(name, KNOWN)))


@pytest.mark.parametrize("name", sorted(set(OF_IDS) - NOT_CONFIRMED))
def test_the_doctor_finds_ids_that_no_longer_exist(store: Store, name: str) -> None:
    installation: Any = SimpleNamespace(store=store)
    for tracker_id, expected in ((KNOWN, set()), (UNKNOWN, {"failure"})):
        with store.transaction() as tx:
            tx.configs.put(PluginConfig.model_validate({name: holding(name, tracker_id)}))
        found = [*setup.ids(installation), *setup.statuses(installation)]
        assert {one.status for one in found if one.status == "failure"} == expected


@pytest.mark.parametrize("name", sorted(set(OF_IDS) - NOT_CONFIRMED))
def test_an_article_names_each_setting_with_ids(name: str) -> None:
    assert any(name in file.read_text(encoding="utf-8") for file in ARTICLES.glob("KB-*.md"))


def test_values_are_read_as_they_are_typed() -> None:
    changed = PluginConfig().changed(
        {
            "base_url": " https://tracker.example.org/redmine/ ",
            "header_prefix": "Tracker",
            "default_tracker_id": "3",
            "default_watcher_ids": "[5, 6]",
            "status_map": '{"1": 2, "5": 3}',
            "in_doubt_policy": "hold",
            "verify_tls": "false",
        }
    )
    assert changed.base_url == "https://tracker.example.org/redmine"
    assert changed.header_prefix == "Tracker"
    assert changed.default_tracker_id == 3
    assert changed.default_watcher_ids == (5, 6)
    assert changed.status_map == {1: 2, 5: 3}
    assert changed.in_doubt_policy == "hold"
    assert changed.verify_tls is False


def test_an_empty_value_is_the_default_again() -> None:
    config = PluginConfig(default_tracker_id=3, status_map={1: 2}, done_state=7)
    changed = config.changed({"default_tracker_id": "", "status_map": " ", "done_state": ""})
    assert changed == PluginConfig()


def test_what_is_not_named_stays() -> None:
    config = PluginConfig(default_tracker_id=3, status_map={1: 2})
    assert config.changed({"default_role_id": "4"}) == PluginConfig(
        default_tracker_id=3, status_map={1: 2}, default_role_id=4
    )


def test_an_unknown_key_is_named_with_those_that_exist() -> None:
    message = refusal(base_uri="x", api_key="k")
    assert "base_uri" in message
    assert "base_url" in message
    assert "api_key" in message


WRONG = [
    ("base_url", "tracker.example.org"),
    ("base_url", "ftp://tracker.example.org"),
    ("base_url", "https://"),
    ("base_url", "https://user:word@tracker.example.org"),
    ("base_url", "https://tracker.example.org/?key=1"),
    ("base_url", "https://tracker.example.org/#top"),
    ("base_url", "https://[::1"),
    ("base_url", "https://tracker.example.org:99999"),
    ("base_url", "https://tracker.example.org:port"),
    ("base_url", "https://tracker.example.org/\x07"),
    ("base_url", "https://tracker\t.example.org"),
    ("base_url", "https://tracker.example.org/\n/x"),
    ("base_url", "https://tracker.example.org/\x00"),
    ("base_url", "https://tracker.example.org/\u202egro"),
    ("base_url", "https://tracker\u200b.example.org"),
    ("header_prefix", "redmine"),
    ("default_tracker_id", "0"),
    ("default_tracker_id", "-1"),
    ("default_tracker_id", "Bug"),
    ("default_tracker_id", "1.5"),
    ("default_priority_id", "9223372036854775808"),
    ("default_watcher_ids", "5"),
    ("default_watcher_ids", "[0]"),
    ("default_watcher_ids", '["alice"]'),
    ("status_map", "[1, 2]"),
    ("status_map", '{"1": 0}'),
    ("status_map", '{"new": 1}'),
    ("done_state", "Done"),
    ("in_doubt_policy", "guess"),
    ("text_formatting", "html"),
    ("verify_tls", "perhaps"),
    ("membership_for", "everybody"),
    ("private_tasks", "false"),
    ("sync_followups", "private"),
    ("sync_solutions", "all"),
    ("sync_documents", "all"),
    ("document_max_mb", "0"),
    ("document_refused_types", '["png"]'),
    ("template_role_ids", "[0]"),
]


@pytest.mark.promise("SEC-41")
@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_value_names_its_key(name: str, value: str) -> None:
    assert name in refusal(**{name: value})


def test_every_wrong_value_is_named_at_once() -> None:
    message = refusal(default_tracker_id="x", done_state="y")
    assert "default_tracker_id" in message
    assert "done_state" in message


@pytest.mark.parametrize(
    "url",
    [
        "https://user:hidden-word@tracker.example.org",
        "https://user:hidden-word/more@tracker.example.org",
        "https://user:[hidden-word@tracker.example.org",
        "https://user:hidden-word\u2100@tracker.example.org",
        "https://user:1hidden-word?more@tracker.example.org",
    ],
)
def test_a_refused_address_does_not_show_its_password(url: str) -> None:
    with pytest.raises(SettingsError) as failure:
        PluginConfig().changed({"base_url": url})
    assert "hidden-word" not in f"{failure.value} {failure.value.notice}"
    ((_, fault),) = failure.value.faults
    assert fault.code in (Invalid.TRACKER_ADDRESS_EXPECTED, Invalid.ADDRESS_WITH_MORE)


def test_a_formatting_that_nobody_chose_is_told_from_plain() -> None:
    assert PluginConfig().text_formatting is None
    assert PluginConfig().changed({"text_formatting": "plain"}).text_formatting == "plain"
    assert PluginConfig(text_formatting="textile").changed({"text_formatting": ""}).text_formatting is None
