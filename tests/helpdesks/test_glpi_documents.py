"""What GLPI's API answers to a download is a document only if it is the one that was announced."""

from __future__ import annotations

import errno
import gzip
import io
import os
from collections.abc import Iterator
from typing import Any

import pytest

from shared.errors import NotYet
from shared.events.snapshots import Document
from shared.helpdesk.glpi import GlpiLookup
from shared.helpdesk.lookup import DocumentRefused, Download, HelpdeskUnreachable
from shared.notices.faults import Fault, HelpdeskFault
from shared.notices.refusals import Refusal
from tests.support.glpi_api import GlpiApi, Packed, Page, glpi_api
from tests.support.refusals import says

CONTENT = bytes(range(256)) * 120
MOST = 1024 * 1024
SIGN_IN = Page(b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in</body></html>")
WARNING = b"<br />\n<b>Warning</b>: Undefined variable $file in <b>/var/www/glpi/src/Document.php</b>\n"


@pytest.fixture
def api() -> Iterator[GlpiApi]:
    with glpi_api() as served:
        served.documents[91] = CONTENT
        yield served


def fetch(api: GlpiApi, **says: Any) -> tuple[Download, bytes]:
    """Fetch document 91; return the result and what was written."""
    into = io.BytesIO()
    told = Document(**{"id": 91, "name": "report.pdf", "mime_type": "application/pdf", **says})
    return GlpiLookup(api.access).document(told, into, MOST), into.getvalue()


SENT_INSTEAD = {
    "a sign-in page": SIGN_IN,
    "a record": {"id": 91, "name": "report.pdf"},
    "a warning before the file": WARNING + CONTENT,
    "half of the file": CONTENT[: len(CONTENT) // 2],
    "nothing": b"",
}


@pytest.mark.promise("OPS-28")
@pytest.mark.parametrize("sent", SENT_INSTEAD.values(), ids=SENT_INSTEAD)
@pytest.mark.parametrize("size", [len(CONTENT), None])
def test_what_is_not_the_announced_document_is_refused(api: GlpiApi, sent: Any, size: int | None) -> None:
    """Its size decides, or the checksum that GLPI knows."""
    api.instead[91] = (200, sent)
    with pytest.raises(
        DocumentRefused, check=says(Refusal.HELPDESK_UNANSWERED, HelpdeskFault.HELPDESK_SENT_ANOTHER_FILE)
    ):
        fetch(api, size=size)


def test_the_refusal_names_what_came_and_what_was_announced(api: GlpiApi) -> None:
    api.instead[91] = (200, SIGN_IN)
    with pytest.raises(DocumentRefused) as refused:
        fetch(api, size=30016)
    assert f"{len(SIGN_IN)} bytes of text/html instead of 30016 bytes" in str(refused.value)


def test_a_document_of_the_announced_size_needs_no_other_call(api: GlpiApi) -> None:
    assert fetch(api, size=len(CONTENT)) == (Download.WHOLE, CONTENT)
    assert api.calls[1:] == ["GET /v2/Management/Document/91/Download"]


class FullDisk(io.BytesIO):
    """A file on a disk without room; a buffered write fails only when it is flushed."""

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_temporary_folder_is_called_that_and_glpi_is_not_blamed(api: GlpiApi) -> None:
    told = Document(id=91, name="report.pdf", size=len(CONTENT))
    with pytest.raises(NotYet) as full:
        GlpiLookup(api.access).document(told, FullDisk(), MOST)
    assert full.value.notice.code == Fault.FILE_NOT_STORED
    assert "No space left on device" in str(full.value)
    assert "GLPI" not in str(full.value)


@pytest.mark.parametrize("size", [None, 12])
def test_a_document_whose_checksum_is_right_is_accepted(api: GlpiApi, size: int | None) -> None:
    """Somebody replaced its file since the event."""
    assert fetch(api, size=size) == (Download.WHOLE, CONTENT)


@pytest.mark.parametrize("sent", [SIGN_IN, {"id": 91}], ids=["page", "record"])
def test_without_size_and_checksum_a_page_or_a_record_is_not_taken_for_a_pdf(api: GlpiApi, sent: Any) -> None:
    api.has_metadata, api.instead = False, {91: (200, sent)}
    with pytest.raises(DocumentRefused):
        fetch(api)
    with pytest.raises(DocumentRefused):
        fetch(api, mime_type=None)


def test_without_size_and_checksum_a_web_page_can_be_a_document(api: GlpiApi) -> None:
    api.has_metadata, api.instead = False, {91: (200, SIGN_IN)}
    assert fetch(api, name="saved.html", mime_type="text/html") == (Download.WHOLE, SIGN_IN)
    del api.instead[91]
    assert fetch(api) == (Download.WHOLE, CONTENT)


def test_a_packed_file_stays_packed(api: GlpiApi) -> None:
    packed = Packed(gzip.compress(CONTENT))
    api.documents[91] = packed
    assert fetch(api, name="logs.tar.gz", size=len(packed)) == (Download.WHOLE, packed)


@pytest.mark.parametrize(
    "answer",
    [(404, Page(b"<h1>Not Found</h1>")), (404, None), (404, {"title": "no"}), (404, []), (404, b"\xff\xfe")],
)
def test_only_glpi_itself_says_that_a_document_is_gone(api: GlpiApi, answer: tuple[int, Any]) -> None:
    api.instead[91] = answer
    with pytest.raises(
        DocumentRefused, check=says(Refusal.HELPDESK_UNANSWERED, HelpdeskFault.HELPDESK_ANSWER_UNUSABLE)
    ):
        fetch(api)
    del api.instead[91], api.documents[91]
    assert fetch(api)[0] is Download.GONE


def test_a_person_is_not_gone_because_a_web_server_says_so(
    api: GlpiApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.users[7] = "anna@example.org"
    lookup = GlpiLookup(api.access)
    with monkeypatch.context() as patched:
        patched.setattr(api, "_read", lambda *_: (404, Page(b"<h1>Not Found</h1>")))
        with pytest.raises(HelpdeskUnreachable):
            lookup.emails_of(7)
    assert lookup.emails_of(7)[0] == "anna@example.org"


ON_FOLLOWUP = {"type": "ITILFollowup", "id": 77}
ON_TICKET = {"type": "Ticket", "id": 4711}
NOTES = {
    "public": ([{"id": 77, "is_private": False}], None),
    "private": ([{"id": 77, "is_private": True}], Download.PRIVATE),
    "deleted": ([{"id": 78, "is_private": False}], Download.GONE),
    "deleted, or the user may see none": ([], None),
}


def withdrawn(api: GlpiApi, item: dict[str, Any] | None) -> Download | None:
    return GlpiLookup(api.access).withdrawn(4711, Document(id=91, item=item))  # type: ignore[arg-type]


@pytest.mark.promise("SEC-84")
@pytest.mark.parametrize("name", NOTES)
def test_a_document_is_withdrawn_with_its_follow_up(api: GlpiApi, name: str) -> None:
    notes, expected = NOTES[name]
    api.notes[4711, "Followup"] = notes
    assert withdrawn(api, ON_FOLLOWUP) == expected
    assert withdrawn(api, ON_TICKET) is None


@pytest.mark.promise("SEC-84")
@pytest.mark.parametrize("item", [ON_TICKET, ON_FOLLOWUP, None])
def test_a_document_in_the_bin_is_withdrawn(api: GlpiApi, item: dict[str, Any] | None) -> None:
    assert withdrawn(api, item) is None
    api.binned.add(91)
    assert withdrawn(api, item) is Download.GONE


def test_a_document_that_was_unlinked_from_its_ticket_is_withdrawn(api: GlpiApi) -> None:
    api.unlinked.add(91)
    assert withdrawn(api, ON_TICKET) is Download.GONE


def test_what_the_user_may_not_read_counts_as_unchanged(api: GlpiApi) -> None:
    api.has_metadata = False
    api.unlinked.add(91)
    assert withdrawn(api, ON_TICKET) is None


def test_without_an_answer_it_is_unknown_whether_a_document_is_withdrawn(api: GlpiApi) -> None:
    api.down = True
    with pytest.raises(HelpdeskUnreachable):
        withdrawn(api, ON_TICKET)


@pytest.mark.promise("OPS-37")
def test_401_to_a_document_is_about_this_document_if_glpi_answers_other_calls(api: GlpiApi) -> None:
    api.instead[91] = (401, {"status": "ERROR_UNAUTHENTICATED"})
    with pytest.raises(DocumentRefused):
        fetch(api)
    api.refuses_tokens = True
    with pytest.raises(HelpdeskUnreachable) as away:
        fetch(api)
    assert not isinstance(away.value, DocumentRefused), "everything waits for GLPI"
