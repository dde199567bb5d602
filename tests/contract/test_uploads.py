"""POST /uploads.json, and PUT /issues/:id.json with tokens: how a document becomes an attachment."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from requests import Response

from shared.events.attachments import attachment_body
from shared.events.snapshots import Document
from tests.contract.seed import Status, User
from tests.contract.support import Json, Tracker, assert_done, assert_empty, assert_rejected, unique

CONTENT = b"\x89PNG\r\n of the toner \x00\xff"
NOT_SAVED = "1 file(s) could not be saved."
"""Redmine's answer to a token that is unknown or already used."""


@pytest.fixture
def issue(tracker: Tracker) -> Json:
    """Return a new issue of SUPPORT."""
    return tracker.issue()


def token(tracker: Tracker, name: str = "toner.png", content: bytes = CONTENT, su: str | None = None) -> str:
    answer = tracker.upload(content, name, su=su)
    assert answer.status_code == 201, answer.text
    made: str = answer.json()["upload"]["token"]
    return made


def attach(tracker: Tracker, issue: Json, named: str, name: str = "toner.png", su: str | None = None) -> None:
    assert_done(attaching(tracker, issue, named, name, su))


def attaching(
    tracker: Tracker, issue: Json, named: str, name: str = "toner.png", su: str | None = None
) -> Response:
    upload = {"token": named, "filename": name, "content_type": "image/png"}
    return tracker.update_issue(issue["id"], su=su, uploads=[upload])


def test_a_token_begins_with_the_id_that_the_attachment_will_have(tracker: Tracker, issue: Json) -> None:
    upload = tracker.upload(CONTENT, "toner.png").json()["upload"]
    assert upload["token"].partition(".")[0] == str(upload["id"])
    attach(tracker, issue, upload["token"])
    assert [one["id"] for one in tracker.attachments(issue["id"])] == [upload["id"]]


def test_an_attachment_has_name_size_type_author_and_the_time_of_its_upload(
    tracker: Tracker, issue: Json
) -> None:
    attach(tracker, issue, token(tracker, su="alice"), su="alice")
    (found,) = tracker.attachments(issue["id"])
    assert (found["filename"], found["filesize"], found["content_type"]) == (
        "toner.png",
        len(CONTENT),
        "image/png",
    )
    assert found["author"]["id"] == User.ALICE
    assert found["created_on"] >= issue["created_on"]


def test_who_uploads_is_the_author_whoever_attaches(tracker: Tracker, issue: Json) -> None:
    attach(tracker, issue, token(tracker, su="alice"))
    (found,) = tracker.attachments(issue["id"])
    assert found["author"]["id"] == User.ALICE


def test_the_journals_say_who_attached_what(tracker: Tracker, issue: Json) -> None:
    attach(tracker, issue, token(tracker, su="alice"), su="alice")
    (attachment,) = tracker.attachments(issue["id"])
    read = tracker.read(f"/issues/{issue['id']}.json?include=journals")["issue"]["journals"]
    assert [one["user"]["id"] for one in read] == [User.ALICE]
    (detail,) = read[0]["details"]
    assert (detail["property"], detail["name"], detail["new_value"]) == (
        "attachment",
        str(attachment["id"]),
        "toner.png",
    )


def test_a_token_attaches_once(tracker: Tracker, issue: Json) -> None:
    """If a request is repeated, even late, only one file is attached."""
    named = token(tracker)
    attach(tracker, issue, named)
    assert_rejected(attaching(tracker, issue, named), NOT_SAVED)
    assert len(tracker.attachments(issue["id"])) == 1


@pytest.mark.parametrize("named", ["999999.0123456789abcdef", "nonsense"])
def test_a_token_that_is_not_known_is_422(tracker: Tracker, issue: Json, named: str) -> None:
    assert_rejected(attaching(tracker, issue, named), NOT_SAVED)
    assert tracker.attachments(issue["id"]) == []


def test_a_token_of_another_file_is_422(tracker: Tracker, issue: Json) -> None:
    number = token(tracker).partition(".")[0]
    assert_rejected(attaching(tracker, issue, f"{number}.{'0' * 64}"), NOT_SAVED)
    assert tracker.attachments(issue["id"]) == []


def test_an_upload_that_is_there_is_403_to_others_than_its_author_until_it_is_attached(
    tracker: Tracker, issue: Json
) -> None:
    """Hence only a 404 proves that Redmine has deleted the upload."""
    named = token(tracker, su="alice")
    path = f"/attachments/{named.partition('.')[0]}.json"
    assert_empty(tracker.call("GET", path), 403)
    assert tracker.read(path, su="alice")["attachment"]["filename"] == "toner.png"
    attach(tracker, issue, named, su="alice")
    assert tracker.read(path)["attachment"]["filesize"] == len(CONTENT)


def test_an_upload_that_is_not_there_is_404(tracker: Tracker) -> None:
    assert_empty(tracker.call("GET", "/attachments/999999.json"), 404)


def test_an_upload_without_a_token_is_silently_left_out(tracker: Tracker, issue: Json) -> None:
    attach(tracker, issue, "")
    assert tracker.attachments(issue["id"]) == []


def test_the_same_file_twice_is_two_attachments(tracker: Tracker, issue: Json) -> None:
    for _ in range(2):
        attach(tracker, issue, token(tracker))
    assert len({one["id"] for one in tracker.attachments(issue["id"])}) == 2


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("a b.png", "a b.png"),
        ("é€.png", "é€.png"),
        ("a?b*c:d|e\"f'g<h>i.png", "a_b_c_d_e_f_g_h_i.png"),
        ("/home/of/unix.png", "unix.png"),
        ("C:\\of\\windows.png", "windows.png"),
    ],
)
def test_a_name_is_kept_but_for_some_characters_and_folders(
    tracker: Tracker, issue: Json, name: str, kept: str
) -> None:
    attach(tracker, issue, token(tracker, name), name)
    assert [one["filename"] for one in tracker.attachments(issue["id"])] == [kept]


def test_a_file_over_the_limit_is_422(tracker: Tracker) -> None:
    answer = tracker.upload(bytes(5 * 1024 * 1024 + 1), unique("large"))
    assert answer.status_code == 422, answer.status_code
    (error,) = answer.json()["errors"]
    assert "maximum allowed file size" in error


def test_a_file_at_the_limit_is_taken(tracker: Tracker) -> None:
    assert tracker.upload(bytes(5 * 1024 * 1024), unique("large")).status_code == 201


def test_another_content_type_is_406(tracker: Tracker) -> None:
    assert tracker.upload(CONTENT, "toner.png", media_type="image/png").status_code == 406


def test_without_a_valid_key_nothing_is_taken(tracker: Tracker) -> None:
    headers = {"Content-Type": "application/octet-stream"}
    assert_empty(tracker.call("POST", "/uploads.json", key="wrong", data=CONTENT, headers=headers), 401)


def test_a_locked_person_uploads_nothing(tracker: Tracker) -> None:
    assert_empty(tracker.upload(CONTENT, "toner.png", su="dave"), 412)


def test_a_person_who_does_not_see_the_issue_attaches_nothing(tracker: Tracker, issue: Json) -> None:
    upload = {"token": token(tracker, su="mallory"), "filename": "toner.png"}
    assert_empty(tracker.update_issue(issue["id"], su="mallory", uploads=[upload]), 403)
    assert tracker.attachments(issue["id"]) == []


def test_a_reporter_who_may_only_add_notes_attaches_files(tracker: Tracker, issue: Json) -> None:
    attach(tracker, issue, token(tracker, su="erin"), su="erin")
    (found,) = tracker.attachments(issue["id"])
    assert found["author"]["id"] == User.ERIN


def test_a_closed_issue_takes_files(tracker: Tracker, issue: Json) -> None:
    assert_done(tracker.update_issue(issue["id"], status_id=Status.CLOSED))
    attach(tracker, issue, token(tracker, su="alice"), su="alice")
    assert len(tracker.attachments(issue["id"])) == 1


SCRIPT = b"<!DOCTYPE html><script>alert(document.domain)</script>"


@pytest.mark.promise("SEC-82")
@pytest.mark.parametrize(
    ("name", "mime", "stored", "is_shown"),
    [
        ("report.pdf", "text/html", "application/pdf", True),
        ("scan.png", "text/html", "image/png", False),
        ("notes.txt", "text/html", "text/plain", False),
        ("page.html", "text/html", "application/octet-stream", False),
        ("page.xhtml", "application/pdf", "application/octet-stream", False),
        ("logo.svg", "image/svg+xml", "application/octet-stream", False),
        ("page", "text/html", "application/octet-stream", False),
    ],
)
def test_a_file_is_served_by_its_name_and_a_page_only_as_a_download(
    tracker: Tracker,
    issue: Json,
    pytestconfig: pytest.Config,
    name: str,
    mime: str,
    stored: str,
    is_shown: bool,
) -> None:
    (upload,) = attachment_body(Document(id=91, name=name, mime_type=mime), len(SCRIPT))["issue"]["uploads"]
    named = tracker.upload(SCRIPT, upload["filename"]).json()["upload"]["token"]
    assert_done(tracker.update_issue(issue["id"], uploads=[{**upload, "token": named}]))
    (found,) = tracker.attachments(issue["id"])
    assert found["content_type"] == stored
    if pytestconfig.getoption("--tracker") == "standin":
        return  # it serves no files
    served = tracker.call("GET", urlsplit(found["content_url"]).path)
    assert served.content == SCRIPT
    is_download = served.headers["Content-Disposition"].startswith("attachment")
    assert is_download is not is_shown
    media_type = served.headers["Content-Type"].partition(";")[0]
    assert is_download or media_type == stored
