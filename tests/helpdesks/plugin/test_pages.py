"""What an administrator sees of GLPI's plugin: its page, automatic action, state and packaging."""

from __future__ import annotations

import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.helpdesks.plugin.conftest import (
    PLUGIN,
    REFUSED,
    ROWS,
    SEND,
    TICKET,
    TROUBLE,
    WAIT,
    Play,
    Scripted,
    add_task,
    address_of,
    settings,
    store,
    update_ticket,
)
from tests.integration.producer.conftest import SECRET, RunningProducer, secret


@pytest.mark.parametrize("file", sorted(PLUGIN.rglob("*.php")), ids=lambda file: file.name)
def test_each_file_is_valid_php(php: str, file: Path) -> None:
    lint = subprocess.run([php, "-l", str(file)], capture_output=True, text=True, timeout=20, check=False)
    assert lint.returncode == 0, lint.stdout


def test_a_test_tells_a_right_secret_from_a_wrong_one_and_leaves_nothing_behind(
    play: Play, producer: RunningProducer
) -> None:
    right = {"do": "test"}
    wrong = settings(secret=secret("another"))
    _, first, _, second = play(address_of(producer), right, wrong, right)
    assert (first["status"], second["status"]) == (202, 401)
    assert producer.journal() == []


def test_secrets_are_encrypted_and_an_empty_field_leaves_them(play: Play) -> None:
    first = settings(secret=SECRET, address="https://hub")
    _, _, kept = play(first, settings(secret="", address="https://hub/path"), {"do": "kept"})
    assert kept["secret"].startswith("encrypted:")
    assert kept["address"] == "https://hub/path"


def test_a_refused_form_stays_filled_in_and_one_that_is_kept_does_not(play: Play) -> None:
    faulty = {"save": "1", "address": "ftp://hub", "secret": SECRET, "console_address": "https://console"}
    right = {**faulty, "address": "https://hub"}
    refused, _, accepted = play({"do": "form", "form": faulty}, {"do": "kept"}, {"do": "form", "form": right})
    assert (refused["done"], refused["typed"]) == (False, faulty)
    assert "ftp://hub" in refused["messages"][0]
    assert (accepted["done"], accepted["typed"], accepted["messages"]) == (True, [], ["Saved."])


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("https://hub/events", "https://hub"),
        ("https://hub/a/events/", "https://hub/a"),
        ("https://hub//", "https://hub"),
        ("https://hub/my-events", "https://hub/my-events"),
        ("https://events", "https://events"),
        ("https://events/events", "https://events"),
    ],
)
def test_an_address_may_end_in_what_the_plugin_adds_itself(play: Play, typed: str, stored: str) -> None:
    console = typed.replace("events", "console")
    _, kept = play(settings(address=typed, console_address=console), {"do": "kept"})
    assert (kept["address"], kept["console_address"]) == (stored, stored.replace("events", "console"))


def test_another_server_s_page_is_told_in_its_first_visible_words(play: Play, scripted: Scripted) -> None:
    page = (
        "<html><head><style>p { color: red }</style><script>\nvar a = 1;\n</script></head><!-- <p>no</p> -->"
    )
    scripted.answers = [
        (404, f"{page}<body><h1>Not\n found</h1><script>var b = {'b' * 30_000};</script></body>")
    ]
    *_, tested = play(address_of(scripted), {"do": "form", "form": {"test": "1"}})
    assert tested["messages"] == ["Events cannot be delivered. HTTP 404: Not found"]


def test_the_queue_joins_rows_that_say_the_same_and_deletes_them_together(play: Play) -> None:
    saves = [update_ticket("content", fields={**TICKET, "content": str(number)}) for number in range(3)]
    look = {"do": "form", "form": {}}
    *_, first = play(*saves, add_task(), update_ticket("name"), look)
    assert first["rows"] == [
        ["ticket.updated", 4711, [1, 2, 3]],
        ["ticket_task.added", 4711, [4]],
        ["ticket.updated", 4711, [5]],
    ]
    *_, after = play(*saves, add_task(), {"do": "form", "form": {"discard": "1,2,3"}})
    assert after["rows"] == [["ticket_task.added", 4711, [4]]]


def test_the_help_of_a_secret_names_no_command_that_prints_a_new_secret() -> None:
    """Another secret than the producer's answers 401."""
    assert not [file for file in PLUGIN.rglob("*.twig") if "secret webhook" in file.read_text()]


def test_a_table_that_is_wider_than_a_phone_scrolls_alone() -> None:
    for file in PLUGIN.rglob("*.twig"):
        tables = re.findall(r"(<div class=\"table-responsive\">\s*)?<table", file.read_text())
        assert all(tables), file.name


HUB = settings(
    address="https://hub.example.org/a",
    secret=SECRET,
    console_address="https://hub.example.org",
    console_token="the-token",
)


@pytest.mark.parametrize(
    ("address", "is_new"),
    [
        ("https://hub.example.org/b", False),
        ("https://HUB.example.org:443", False),
        ("", False),
        ("http://hub.example.org/a", True),
        ("https://other.example.org/a", True),
        ("https://hub.example.org:8443/a", True),
    ],
)
def test_for_another_server_a_secret_is_asked_for_again_before_it_goes_there(
    play: Play, address: str, is_new: bool
) -> None:
    for name, needed in (("address", "secret"), ("console_address", "console_token")):
        typed = {name: address, needed: ""}
        _, faults, kept, _, again = play(
            HUB, settings(**typed), {"do": "kept"}, HUB, settings(**{**typed, needed: SECRET})
        )
        assert (len(faults), again) == (1 if is_new else 0, [])
        assert (kept[name] == address) != is_new


@pytest.mark.parametrize(
    "values",
    [
        {"address": "ftp://hub"},
        {"address": "https://user@hub"},
        {"address": "https://hub?x=1"},
        {"console_address": "hub"},
        {"secret": "not-a-secret"},
        {"secret": "whsec_c2hvcnQ="},
        {"console_token": "with\nbreak"},
    ],
)
def test_a_faulty_setting_is_refused_as_a_whole(play: Play, values: dict[str, str]) -> None:
    faults, kept = play(settings(**{"private_tasks": "0", **values}), {"do": "kept"})
    assert (len(faults), kept) == (1, [])


def saved_ago(seconds: float) -> dict[str, Any]:
    """Set the database's clock back."""
    return {"do": "database", "values": {"now": int(time.time() - seconds)}}


def test_the_cron_says_in_its_comment_what_is_stuck_and_takes_it_back(play: Play, scripted: Scripted) -> None:
    scripted.answers = [(503, ""), (202, "{}")]
    stuck, after = {"do": "cron"}, {"do": "cron", "comment": "deskbridge: 1 waiting, ..."}
    *_, first, _, second = play(address_of(scripted), saved_ago(1000), add_task(), stuck, WAIT, after)
    assert first[0] == 0
    assert first[1].startswith("deskbridge: 1 waiting, the oldest since ")
    assert second == [1, ""]


def test_what_waits_for_minutes_only_is_no_trouble(play: Play) -> None:
    connected = settings(address="http://127.0.0.1:9", secret=SECRET)
    assert play(connected, saved_ago(800), add_task(), TROUBLE)[-1] is None
    assert play(connected, saved_ago(1000), add_task(), TROUBLE)[-1] is not None


def test_the_cron_tells_of_parked_events_and_leaves_an_administrators_comment(
    play: Play, scripted: Scripted
) -> None:
    scripted.answers = [(422, REFUSED)]
    *_, (_, warned), (_, kept) = play(
        address_of(scripted), add_task(), {"do": "cron"}, {"do": "cron", "comment": "ask Bob"}
    )
    assert "Rejected by deskbridge: 1." in warned
    assert kept == "ask Bob"


def test_a_cron_that_was_killed_may_start_again_and_no_other(play: Play) -> None:
    ours = {"id": 40, "itemtype": "GlpiPlugin\\Deskbridge\\Cron"}
    other = {"id": 41, "itemtype": "MailCollector"}
    assert play({"do": "revive", "zombies": [other, ours]}) == [[{"id": 40, "state": 1}]]


def test_uninstalling_is_refused_while_something_waits(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    uninstall = {"do": "uninstall"}
    assert play(settings(private_tasks="0"), uninstall, {"do": "kept"})[1:] == ["removed", []]
    *_, refusal, rows = play(add_task(), uninstall, ROWS)
    assert "1 event was not sent" in refusal
    assert len(rows) == 1
    monkeypatch.setenv("DESKBRIDGE_DISCARD", "1")
    assert play(add_task(), uninstall)[-1] == "removed"


# versions


def test_what_waits_in_the_table_of_version_1_0_0_is_kept_and_sent(play: Play, scripted: Scripted) -> None:
    ticket = {"event": "ticket.updated", "ticket": {"id": 4711}}
    row = {
        **{"id": 3, "uuid": "u-3", "tickets_id": 4711, "event": json.dumps(ticket)},
        **{"occurred_at": "1795265199.000003", "is_parked": 0, "attempts": 2, "next_try": 0, "answer": None},
    }
    old = store(glpi_plugin_deskbridge_events=[row])
    *_, rows, sent = play(address_of(scripted), old, {"do": "install"}, ROWS, SEND)
    assert [(one["uuid"], one["kind"], one["tasks_id"]) for one in rows] == [("u-3", "", 0)]
    assert sent == 1


def test_the_automatic_action_says_whose_it_is(play: Play) -> None:
    assert play({"do": "actions"}) == [["deskbridgesend"]]


def test_the_version_the_changelog_and_the_catalogue_of_plug_ins_agree() -> None:
    version = re.search(r"PLUGIN_DESKBRIDGE_VERSION', '([\d.]+)'", (PLUGIN / "setup.php").read_text())
    assert version is not None
    assert f"## {version[1]}" in (PLUGIN / "CHANGELOG.md").read_text()
    assert f"<num>{version[1]}</num>" in (PLUGIN / "plugin.xml").read_text()


def test_the_plug_in_names_no_address_on_the_web_as_it_has_none() -> None:
    """The homepage is empty rather than left out, since an update in GLPI would otherwise keep the previous one."""
    assert "://" not in (PLUGIN / "plugin.xml").read_text()
    assert "'homepage'     => ''," in (PLUGIN / "setup.php").read_text()


def test_an_older_glpi_that_loads_the_plugin_gets_to_compare_the_versions(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLPI_VERSION", "10.0.12")
    assert play({"do": "tabs"}) == [[]]


def test_another_glpi_than_the_one_it_was_tried_with_is_refused() -> None:
    setup = (PLUGIN / "setup.php").read_text()
    assert "PLUGIN_DESKBRIDGE_MIN_GLPI', '11.0.0'" in setup
    assert "PLUGIN_DESKBRIDGE_MAX_GLPI', '11.1.0'" in setup
