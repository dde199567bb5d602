"""The 1.x request bodies are correct field by field (SPEC 2.3 and 2.4)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shared.events.config import PluginConfig
from shared.events.payloads import issue_body, membership_body, note_body, status_body, time_entry_body
from shared.events.snapshots import Note, Ticket, TicketTask
from tests.support import events

FULL = PluginConfig(
    default_tracker_id=3,
    default_priority_id=2,
    default_activity_id=9,
    default_watcher_ids=(5, 6),
    status_map={1: 1, 2: 4},
)


def ticket(**changes: Any) -> Ticket:
    return Ticket.model_validate(events.ticket(**changes))


def task(**changes: Any) -> TicketTask:
    return TicketTask.model_validate(events.task(**changes))


def issue(config: PluginConfig = FULL, category_id: int | None = 7, **changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = issue_body(ticket(**changes), 11, category_id, config)["issue"]
    return found


def entry(config: PluginConfig = FULL, **changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = time_entry_body(4711, task(**changes), 6, config)["time_entry"]
    return found


def test_an_issue_has_every_field_of_the_specification() -> None:
    assert issue_body(ticket(), 11, 7, FULL) == {
        "issue": {
            "project_id": 11,
            "subject": "Printer 4711 on fire",
            "description": "It burns",
            "tracker_id": 3,
            "priority_id": 2,
            "status_id": 4,
            "category_id": 7,
            "watcher_user_ids": [5, 6],
        }
    }


def test_hours_are_booked_on_the_day_of_the_work_where_the_event_says_it() -> None:
    assert entry(date="2026-11-20T23:30:00+09:00")["spent_on"] == "2026-11-20"
    assert "spent_on" not in entry(date=None)
    assert "spent_on" not in entry(FULL.changed({"spent_on": "omit"}), date="2026-11-20")


def test_what_is_not_configured_is_left_out() -> None:
    assert issue(PluginConfig(), None, content=None) == {"project_id": 11, "subject": "Printer 4711 on fire"}


def test_a_status_that_is_not_in_the_map_is_left_out() -> None:
    assert "status_id" not in issue(status=6)


@pytest.mark.parametrize("title", ["", "   ", "\u200b", "\x00", "\n\t"])
def test_a_subject_that_is_empty_names_the_ticket(title: str) -> None:
    assert issue(title=title)["subject"] == "Ticket #4711"


@pytest.mark.parametrize("content", [None, "", "<p>&nbsp;</p>"])
def test_an_empty_description_is_left_out(content: str | None) -> None:
    assert "description" not in issue(content=content)


def test_a_subject_is_cut_to_255_characters_without_a_mark() -> None:
    assert issue(title="x" * 255)["subject"] == "x" * 255
    assert issue(title="x" * 256)["subject"] == "x" * 255
    assert issue(title="😀" * 300)["subject"] == "😀" * 255


def test_a_subject_is_one_line_as_written() -> None:
    assert issue(title="Fire &amp; <b>smoke</b>\n again")["subject"] == "Fire &amp; <b>smoke</b> again"


def test_a_description_is_not_cut() -> None:
    assert len(issue(content="x" * 100_000)["description"]) == 100_000


def test_a_time_entry_has_every_field_of_the_specification() -> None:
    assert time_entry_body(4711, task(), 6, FULL) == {
        "time_entry": {"issue_id": 6, "hours": 1.5, "comments": "Extinguished 512", "activity_id": 9}
    }


def test_an_activity_that_is_not_configured_is_left_out() -> None:
    assert set(entry(PluginConfig())) == {"issue_id", "hours", "comments"}


@pytest.mark.parametrize("content", [None, "", "<p></p>", " ", "\x00"])
def test_a_comment_that_is_empty_without_markup_names_the_ticket(content: str | None) -> None:
    assert "#4711" in entry(content=content)["comments"]


@pytest.mark.parametrize("private_tasks", ["hours_only", "skip"])
def test_a_private_task_is_logged_with_the_comment_of_one_without_text(private_tasks: str) -> None:
    config = FULL.model_copy(update={"private_tasks": private_tasks})
    assert entry(config, is_private=True) == entry(config, content=None)
    assert entry(config, is_private=False) == entry(config)


def test_a_private_task_is_logged_like_any_other_if_the_settings_say_so() -> None:
    assert entry(FULL.model_copy(update={"private_tasks": "send"}), is_private=True) == entry()


def test_a_comment_is_cut_to_1024_characters_with_a_mark() -> None:
    assert entry(content="x" * 1024)["comments"] == "x" * 1024
    comment = entry(content="x" * 1025)["comments"]
    assert (len(comment), comment[-1]) == (1024, "…")


@pytest.mark.parametrize(
    ("seconds", "hours"), [(5400, 1.5), (3600, 1.0), (60, 1 / 60), (1, 1 / 3600), (86400 * 30, 720.0)]
)
def test_seconds_become_decimal_hours(seconds: int, hours: float) -> None:
    assert entry(actiontime=seconds)["hours"] == hours


def test_nul_and_lone_surrogates_never_reach_the_tracker() -> None:
    text = "a\x00b\ud800c"
    sent = json.dumps([issue_body(ticket(title=text, content=text), 1, None, FULL), entry(content=text)])
    assert "\\u0000" not in sent
    assert "\\ud8" not in sent


def test_a_status_update_is_nothing_but_the_status() -> None:
    assert status_body(5) == {"issue": {"status_id": 5}}


def test_a_membership_is_a_person_and_one_role() -> None:
    assert membership_body(5, 4) == {"membership": {"user_id": 5, "role_ids": [4]}}


@pytest.mark.parametrize("formatting", [None, "plain"])
def test_a_description_is_plain_text_unless_a_formatting_is_set(formatting: Any) -> None:
    config = PluginConfig(text_formatting=formatting)
    assert issue(config, content="<p># systemctl</p>")["description"] == "# systemctl"


@pytest.mark.parametrize(
    ("formatting", "description"),
    [
        ("textile", "&#35; systemctl"),
        ("markdown", "\\# systemctl"),
        ("common_mark", "\\# systemctl"),
    ],
)
def test_only_a_description_is_written_for_the_trackers_formatter(formatting: Any, description: str) -> None:
    config = PluginConfig(text_formatting=formatting)
    sent = issue(config, title="# systemctl", content="<p># systemctl</p>")
    assert (sent["subject"], sent["description"]) == ("# systemctl", description)
    assert entry(config, content="<p># systemctl</p>")["comments"] == "# systemctl"


def test_texts_are_read_as_the_event_says() -> None:
    html: dict[str, Any] = {"content": "<b>bold", "content_format": "html"}
    assert issue(**html)["description"] == entry(**html)["comments"] == "bold"
    plain: dict[str, Any] = {"content": "<p>&amp;</p>", "content_format": "plain"}
    assert issue(**plain)["description"] == entry(**plain)["comments"] == "<p>&amp;</p>"
    link: dict[str, Any] = {"content": "<p><a href='/x'>y</a></p>", "helpdesk_url": "https://h.example"}
    assert issue(**link)["description"] == entry(**link)["comments"] == "y (https://h.example/x)"


@pytest.mark.parametrize("content", ["\u200b", "\u202e", "<p>&#8203;</p>"])
def test_what_shows_nothing_counts_as_no_text(content: str) -> None:
    assert "description" not in issue(content=content)
    assert entry(content=content)["comments"] == "Work on helpdesk ticket #4711"


@pytest.mark.parametrize("formatting", [None, "plain", "textile", "markdown", "common_mark"])
def test_a_note_that_is_only_a_picture_within_its_text_says_that_there_is_one(formatting: Any) -> None:
    note = Note(id=1, content='<p><img src="data:image/png;base64,iVBORw0KGgo="></p>', content_format="html")
    config = PluginConfig(text_formatting=formatting)
    assert note_body(note, config) == {"issue": {"notes": "[image]"}}
