"""How a tracker stores the text that it is sent (SPEC section 2.4)."""

from __future__ import annotations

import json

import pytest
from pydantic import SecretStr

from shared.tracker.client import Target, TrackerClient
from tests.contract.seed import Project
from tests.contract.support import Tracker, accepted, assert_rejected, unique

HOSTILE = {
    "quotes": "\"double\" 'single' `back` \\ slash",
    "markup": "<script>alert(1)</script> <b>b</b> &amp; &lt;",
    "placeholders": "{{ticket.id}} %{name} ${x} #{1+1} %s",
    "line separators": "before\u2028between\u2029after\u0085end",
    "emoji": "printer \N{FIRE} \N{FAMILY} \U0001f469\u200d\U0001f527",
    "right to left": "\u202eשלום مرحبا",
    "combining": "Zu\u0308rich Åström ﬁ",
    "sql": "'; DROP TABLE issues; --",
    "json": '{"issue": {"project_id": 4}}',
    "no-break spaces": "a\u00a0b\u2009c\ufeffd",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_comes_back_unchanged(tracker: Tracker, text: str) -> None:
    subject = f"{text} {unique()}"
    issue_id = tracker.issue(subject=subject, description=text)["id"]
    stored = tracker.read(f"/issues/{issue_id}.json")["issue"]
    assert stored["subject"] == subject
    assert stored["description"] == text


def test_raw_utf8_and_escaped_json_are_the_same(tracker: Tracker) -> None:
    subject = f"größer \N{FIRE} {unique()}"
    body = json.dumps({"issue": {"project_id": Project.SUPPORT, "subject": subject}}, ensure_ascii=False)
    answer = tracker.call(
        "POST",
        "/issues.json",
        data=body.encode(),
        headers={"Content-Type": "application/json; charset=utf-8"},
    )
    assert accepted(answer)["issue"]["subject"] == subject


@pytest.mark.parametrize(
    "text", ["Принтер не печатает", "打印机坏了", "\N{FIRE} \U0001f469\u200d\U0001f527", "é\u2028ß"]
)
def test_what_deskbridge_sends_comes_back_unchanged(tracker: Tracker, text: str) -> None:
    subject, description = f"{text} {unique()}", text * 500
    client = TrackerClient(Target(tracker.base_url, SecretStr(tracker.api_key)))
    fields = {"project_id": Project.SUPPORT, "subject": subject, "description": description}
    made = client.call("POST", "/issues.json", body={"issue": fields}).object("issue")
    tracker.created.append(f"/issues/{made['id']}.json")
    stored = tracker.read(f"/issues/{made['id']}.json")["issue"]
    assert stored["subject"] == subject
    assert stored["description"] == description


@pytest.mark.parametrize("letter", ["x", "ß", "\N{FIRE}"])
def test_a_subject_of_255_characters_is_accepted(tracker: Tracker, letter: str) -> None:
    tail = unique()
    subject = letter * (255 - len(tail)) + tail
    assert tracker.issue(subject=subject)["subject"] == subject


@pytest.mark.parametrize("letter", ["x", "\N{FIRE}"])
def test_a_subject_of_256_characters_is_refused(tracker: Tracker, letter: str) -> None:
    answer = tracker.create_issue(subject=letter * 256)
    assert_rejected(answer, "Subject is too long (maximum is 255 characters)")


@pytest.mark.parametrize("subject", ["", "   ", None])
def test_an_empty_subject_is_refused(tracker: Tracker, subject: str | None) -> None:
    assert_rejected(tracker.create_issue(subject=subject), "Subject cannot be blank")


def test_a_subject_keeps_its_outer_blanks_tabs_and_line_breaks(tracker: Tracker) -> None:
    subject = f"  a\tb\nc {unique()}  "
    assert tracker.issue(subject=subject)["subject"] == subject


def test_a_description_of_a_million_characters_is_stored_whole(tracker: Tracker) -> None:
    description = "0123456789" * 100_000
    issue_id = tracker.issue(description=description)["id"]
    assert tracker.read(f"/issues/{issue_id}.json")["issue"]["description"] == description


def test_line_ends_of_a_description_become_crlf(tracker: Tracker) -> None:
    issue_id = tracker.issue(description="one\ntwo\r\nthree\n")["id"]
    stored = tracker.read(f"/issues/{issue_id}.json")["issue"]["description"]
    assert stored == "one\r\ntwo\r\nthree\r\n"


@pytest.mark.parametrize(
    "body",
    [
        b'{"issue":',
        b'{"issue":{"subject":"\\ud800"}}',
        b'{"issue":{"subject":"\xff"}}',
        b'{"issue":{"subject":NaN}}',
    ],
    ids=["cut off", "lone surrogate", "not UTF-8", "NaN"],
)
def test_a_body_that_cannot_be_parsed_is_400_and_empty(tracker: Tracker, body: bytes) -> None:
    answer = tracker.call("POST", "/issues.json", data=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.content == b""
