"""The plugin configuration as an administrator types it (SPEC 2.1)."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from producer.admin.configuration.configuration import CHECKS
from producer.admin.doctor import setup
from producer.admin.naming.names import OF_FIELDS
from producer.console.rendering.setting_pages import PARTS
from shared.errors import SettingsError
from shared.events.config import PluginConfig
from shared.metadata.confirming import OF_SPEC, unusable_defaults
from shared.notices.invalid import Invalid
from shared.values.validation import Id

VIEW = Path(__file__).resolve().parents[2] / "producer" / "console" / "views" / "settings.html"


def holds_ids(hint: Any) -> bool:
    """Return whether a type has ids of Redmine in it."""
    return bool(hint == Id) or any(map(holds_ids, get_args(hint)))


OF_IDS = sorted(
    name for name, hint in get_type_hints(PluginConfig, include_extras=True).items() if holds_ids(hint)
)
NOT_CONFIRMED = {"template_role_ids"}
"""Only what a template may use; a body with another role is refused when it is sent."""


def refusal(**assignments: str) -> str:
    with pytest.raises(SettingsError) as failure:
        PluginConfig().changed(assignments)
    return str(failure.value)


def test_the_keys_are_those_of_the_contract() -> None:
    assert set(PluginConfig.model_fields) == {
        "base_url", "header_prefix", "default_tracker_id", "default_priority_id", "default_activity_id",
        "default_role_id", "default_watcher_ids", "status_map", "done_state", "in_doubt_policy", "verify_tls",
        "project_activities", "membership_for", "template_role_ids", "match_administrators", "text_formatting",
        "spent_on", "private_tasks", "correct_authors", "trial", "sync_followups",
        "sync_solutions", "sync_documents", "document_max_mb", "document_refused_types",  # ours
    }  # fmt: skip
    assert PluginConfig().done_state == 2
    assert PluginConfig().in_doubt_policy == "lookup"


def test_every_setting_is_on_a_page() -> None:
    on_pages = {name for names in PARTS.values() for name in names}
    assert on_pages == set(PluginConfig.model_fields) - {"trial"}, "trial mode has a form of its own"
    view = VIEW.read_text(encoding="utf-8")
    assert [name for name in sorted(on_pages) if name not in view] == []


@pytest.mark.parametrize("name", sorted(set(OF_IDS) - NOT_CONFIRMED))
def test_ids_in_a_setting_are_confirmed(name: str) -> None:
    assert name in CHECKS


@pytest.mark.parametrize("name", OF_IDS)
def test_ids_in_a_setting_are_shown_with_names(name: str) -> None:
    assert name in OF_FIELDS


@pytest.mark.parametrize("name", sorted(set(OF_IDS) - NOT_CONFIRMED))
def test_the_doctor_finds_ids_that_no_longer_exist(name: str) -> None:
    looks = inspect.getsource(unusable_defaults) + inspect.getsource(setup.statuses)
    assert name in OF_SPEC or f"config.{name}" in looks


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
