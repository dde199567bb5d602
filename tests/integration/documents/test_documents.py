"""Documents become attachments of the ticket's issue: fetched from GLPI, once each, in order, by the right person."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.privacy.forgetting import forget
from shared.notices.kinds import Kind
from shared.notices.reasons import Reason
from shared.store.tables.journal import EventState
from tests.integration.documents import CONTENT, SIZE
from tests.support.bridge import Bridge
from tests.support.events import (
    ALICE,
    BOB,
    document,
    document_event,
    followup,
    followup_event,
    task,
    task_event,
    ticket,
)
from tests.support.glpi_api import CutShort, GlpiApi, Page
from tests.support.ledger import attachments_of, notes_of, ours
from worker.runtime import runner
from worker.ticket import documents
from worker.ticket.retry import MOST_ATTEMPTS

DONE, SKIPPED, PENDING = EventState.DONE, EventState.SKIPPED, EventState.PENDING
MEGABYTE = 1024 * 1024
DEVELOPER = 4


def code(bridge: Bridge, event_id: int) -> str:
    reason = bridge.event(event_id).notice
    assert reason is not None
    return str(reason.code)


def ended(bridge: Bridge, event: dict[str, Any]) -> tuple[str, str]:
    """Forward an event; return its final state and reason code."""
    (event_id,) = bridge.receive(event)
    bridge.sync()
    return bridge.event(event_id).state, code(bridge, event_id)


def test_a_document_becomes_an_attachment_of_the_person_who_added_it(
    begun: Bridge, stand_in: StandIn
) -> None:
    assert (
        begun.forward(document_event(1), document_event(2, of_document=document(92, user=BOB))) == [DONE] * 2
    )
    assert attachments_of(stand_in) == [("alice", "scan-91.png", SIZE), ("bob", "scan-92.png", SIZE)]


def test_the_content_is_as_glpi_has_it_and_is_kept_nowhere(
    begun: Bridge, stand_in: StandIn, api: GlpiApi
) -> None:
    api.documents[91] = bytes(range(256)) * 4096
    extra = {**document(), "content": "SECRET", "data": "SECRET"}
    assert begun.forward(document_event(1, of_document=extra)) == [DONE]
    assert attachments_of(stand_in) == [("alice", "scan-91.png", MEGABYTE)]
    assert "SECRET" not in begun.event(2).payload


def test_nothing_is_sent_unless_the_setting_says_so(begun: Bridge, stand_in: StandIn, api: GlpiApi) -> None:
    begun.configure(sync_documents="off")
    before = len(api.calls)
    assert ended(begun, document_event(1)) == (SKIPPED, Reason.DOCUMENTS_OFF)
    assert (attachments_of(stand_in), len(api.calls)) == ([], before)


@pytest.mark.promise("SEC-81")
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"is_private": True}, Reason.PRIVATE_DOCUMENT),
        ({"size": 11 * MEGABYTE}, Reason.DOCUMENT_TOO_LARGE),
        ({"name": "setup.EXE"}, Reason.DOCUMENT_TYPE_REFUSED),
        ({"mime_type": "video/mp4"}, Reason.DOCUMENT_TYPE_REFUSED),
        ({"id": 98}, Reason.DOCUMENT_TOO_LARGE),
        ({"id": 99}, Reason.DOCUMENT_IS_EMPTY),
    ],
)
def test_what_is_not_sent_is_skipped_with_its_reason_and_nothing_waits_for_it(
    begun: Bridge, stand_in: StandIn, api: GlpiApi, changes: dict[str, Any], reason: Reason
) -> None:
    begun.configure(document_refused_types=("video/*", ".exe"))
    api.documents |= {98: bytes(10 * MEGABYTE + 1), 99: b""}
    ids = begun.receive(document_event(1, of_document=document(**changes)), followup_event(2))
    begun.sync()
    assert [begun.event(one).state for one in ids] == [SKIPPED, DONE]
    assert code(begun, ids[0]) == reason
    assert attachments_of(stand_in) == []


def test_a_document_that_glpi_does_not_have_is_skipped_after_a_day_and_holds_up_no_other(
    begun: Bridge, stand_in: StandIn, api: GlpiApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, note, other = begun.receive(
        document_event(1, of_document=document(404)),
        followup_event(2),
        document_event(3, of_document=document(92)),
    )
    for number in range(MOST_ATTEMPTS + 1):
        begun.sync()
        assert (begun.event(gone).state, code(begun, gone)) == (PENDING, Reason.DOCUMENT_MISSING), number
        begun.hurry()
    assert [begun.event(one).state for one in (note, other)] == [DONE, DONE]
    assert begun.forward(followup_event(4, of_followup=followup(79))) == [DONE], "it does not wait either"
    monkeypatch.setattr(documents, "MISSING_FOR", timedelta(0))
    begun.hurry()
    begun.sync()
    assert (begun.event(gone).state, code(begun, gone)) == (SKIPPED, Reason.DOCUMENT_GONE)


def test_a_document_that_glpi_has_again_is_attached(begun: Bridge, stand_in: StandIn, api: GlpiApi) -> None:
    """Its database was restored."""
    content = api.documents.pop(91)
    (event_id,) = begun.receive(document_event(1))
    begun.sync()
    assert code(begun, event_id) == Reason.DOCUMENT_MISSING
    due_at = begun.event(event_id).next_attempt_at
    assert due_at is not None
    assert timedelta(seconds=50) < due_at - datetime.now(UTC) <= timedelta(seconds=60)
    api.documents[91] = content
    begun.hurry()
    begun.sync()
    assert attachments_of(stand_in) == [("alice", "scan-91.png", SIZE)]


@pytest.mark.promise("OPS-28")
@pytest.mark.parametrize(
    "answer", [(200, Page(b"<html>Sign in</html>")), (200, CONTENT[:-1]), (404, Page(b"<h1>Not Found</h1>"))]
)
def test_nothing_else_is_attached_in_place_of_a_document(
    begun: Bridge, stand_in: StandIn, api: GlpiApi, answer: tuple[int, bytes]
) -> None:
    """A page of a web server or of a proxy, or half the file."""
    api.instead[91] = answer
    (event_id,) = begun.receive(document_event(1, of_document=document(size=SIZE)))
    begun.sync()
    event = begun.event(event_id)
    assert (event.state, event.attempts, attachments_of(stand_in)) == (PENDING, 1, [])
    if answer[0] == 200:
        assert f"{len(answer[1])} bytes of " in str(event.reason)
        assert f"instead of {SIZE} bytes" in str(event.reason)
    api.instead.clear()
    begun.hurry()
    begun.sync()
    assert attachments_of(stand_in) == [("alice", "scan-91.png", SIZE)]


def test_without_glpis_api_documents_are_skipped(bridge: Bridge, stand_in: StandIn) -> None:
    bridge.configure(sync_documents="on")
    assert bridge.forward(task_event()) == [DONE]
    assert ended(bridge, document_event(1)) == (SKIPPED, Reason.DOCUMENTS_NEED_API)


@pytest.mark.promise("SEC-81")
def test_the_name_of_a_private_document_is_not_stored(begun: Bridge) -> None:
    private = document(name="Notice to quit.pdf", is_private=True, item={"type": "ITILFollowup", "id": 7})
    begun.forward(document_event(1, of_document=private))
    assert "Notice" not in begun.event(2).payload


def test_documents_from_before_the_issue_are_sent_once_there_is_one_in_the_order_of_their_time(
    sending: Bridge, stand_in: StandIn
) -> None:
    ids = sending.receive(document_event(1), followup_event(2), document_event(3, of_document=document(92)))
    sending.sync()
    assert [code(sending, one) for one in ids] == [Reason.NO_ISSUE_FOR_NOTE] * 3
    assert sending.forward(task_event(4), document_event(5, of_document=document(93))) == [DONE, DONE]
    assert [name for _, name, _ in attachments_of(stand_in)] == [f"scan-{one}.png" for one in (91, 92, 93)]
    journals = [one for issue in stand_in.state()["issues"] for one in issue["journals"]]
    texts = [one["notes"] or one["details"][0]["to"] for one in sorted(journals, key=lambda one: one["id"])]
    added = [one for one in texts if isinstance(one, str)]  # the other is the status
    assert added == ["scan-91.png", "Toner 77 ordered", "scan-92.png", "scan-93.png"]


def test_a_document_that_comes_twice_or_hangs_on_two_things_of_a_ticket_is_attached_once(
    begun: Bridge, stand_in: StandIn
) -> None:
    on_followup = document(item={"type": "ITILFollowup", "id": 77})
    assert begun.forward(document_event(1), document_event(2, of_document=on_followup)) == [
        DONE,
        "superseded",
    ]
    assert ended(begun, document_event(3)) == (DONE, Reason.ATTACHED_BEFORE)
    assert len(attachments_of(stand_in)) == 1


def test_a_document_of_two_tickets_is_attached_to_both_issues(begun: Bridge, stand_in: StandIn) -> None:
    other = ticket(4712)
    begun.forward(document_event(1))
    of_other = {**task_event(2, of_ticket=other), "task": {**task_event()["task"], "id": 900}}
    assert begun.forward(of_other, document_event(3, of_ticket=other), ticket_id=4712) == [DONE, DONE]
    assert len(attachments_of(stand_in, 6)) == len(attachments_of(stand_in, 7)) == 1


def test_while_glpi_is_away_documents_wait_and_redmine_goes_on(
    begun: Bridge, stand_in: StandIn, api: GlpiApi
) -> None:
    api.down = True
    (event_id,) = begun.receive(document_event(1))
    begun.sync()
    assert (begun.event(event_id).state, code(begun, event_id)) == (PENDING, Reason.DOCUMENT_AWAITED)
    assert begun.event(event_id).attempts == 0
    assert begun.breaker.current() is None
    later = {**task_event(2), "task": {**task_event()["task"], "id": 513}}
    assert begun.forward(later) == [DONE], "time entries do not wait for it"
    api.down = False
    begun.redis.flushdb()
    begun.hurry()
    begun.sync()
    assert attachments_of(stand_in) == [("alice", "scan-91.png", SIZE)]


def test_a_document_that_glpi_does_not_give_fails_after_some_attempts_and_others_go_on(
    begun: Bridge, stand_in: StandIn, api: GlpiApi
) -> None:
    api.forbidden.add(91)
    (event_id,) = begun.receive(document_event(1))
    begun.sync()
    assert (begun.event(event_id).state, begun.event(event_id).attempts) == (PENDING, 1)
    assert "91" in str(begun.event(event_id).reason)
    for _ in range(12):
        begun.hurry()
        begun.sync()
    assert begun.event(event_id).state == EventState.FAILED
    assert begun.forward(document_event(2, of_document=document(92))) == [DONE]


def test_a_document_that_glpi_never_gives_fails_with_glpis_reason_in_the_event_and_in_the_history(
    begun: Bridge, api: GlpiApi
) -> None:
    api.forbidden.add(91)
    (event_id,) = begun.receive(document_event(1))
    for _ in range(MOST_ATTEMPTS + 1):
        begun.hurry()
        begun.sync()
    event = begun.event(event_id)
    assert (event.state, code(begun, event_id)) == (EventState.FAILED, Reason.GAVE_UP)
    because = "gave up after 12 attempts: GLPI does not give document 91: "
    assert str(event.reason).startswith(because)
    assert because in begun.steps()[-1]


@pytest.mark.parametrize("status", [200, 502, 503, 504])
def test_a_document_at_which_glpi_breaks_off_each_time_fails_and_holds_up_no_other(
    begun: Bridge, stand_in: StandIn, api: GlpiApi, status: int
) -> None:
    """GLPI answers every other request."""
    api.documents[91] = CutShort(CONTENT)
    api.statuses = {} if status == 200 else {91: status}
    (event_id,) = begun.receive(document_event(1))
    begun.sync()
    assert (begun.event(event_id).state, begun.event(event_id).attempts) == (PENDING, 1)
    for _ in range(MOST_ATTEMPTS):
        begun.hurry()
        begun.sync()
    assert begun.event(event_id).state == EventState.FAILED
    assert begun.forward(document_event(2, of_document=document(92))) == [DONE]
    assert [name for _, name, _ in attachments_of(stand_in)] == ["scan-92.png"]


@pytest.mark.parametrize("settings", [{"attachment_max_kb": 0}, {"refused_extensions": ["png"]}])
def test_a_file_that_redmine_refuses_fails_with_redmines_words(
    begun: Bridge, stand_in: StandIn, settings: dict[str, Any]
) -> None:
    stand_in.settings(**settings)
    (event_id,) = begun.receive(document_event(1))
    begun.sync()
    assert begun.event(event_id).state == EventState.FAILED, begun.steps()
    assert "allowed" in str(begun.event(event_id).reason)
    assert begun.forward(followup_event(2)) == [DONE]


def test_a_person_who_may_not_upload_is_replaced_by_the_api_user(begun: Bridge, stand_in: StandIn) -> None:
    stand_in.patch("roles", DEVELOPER, permissions=["view_issues", "log_time"])
    stand_in.patch("roles", 1, permissions=["view_issues"])
    assert ended(begun, document_event(1)) == (DONE, Reason.DOCUMENT_ATTACHED_AS_ANOTHER)
    assert attachments_of(stand_in) == [("admin", "scan-91.png", SIZE)]


def test_a_document_of_nobody_redmine_knows_is_the_api_users(begun: Bridge, stand_in: StandIn) -> None:
    stranger = {"id": 99, "email": "stranger@example.test", "name": "Sam Stranger"}
    assert begun.forward(document_event(1, of_document=document(user=stranger))) == [DONE]
    assert attachments_of(stand_in) == [("admin", "scan-91.png", SIZE)]


def test_trial_mode_fetches_and_sends_nothing_and_says_what_it_would_send(
    begun: Bridge, stand_in: StandIn, api: GlpiApi
) -> None:
    begun.configure(trial=True)
    (event_id,) = begun.receive(document_event(1))
    begun.sync()
    assert (attachments_of(stand_in), api.calls) == ([], [])
    assert "attach document 91 to issue #6 as alice" in str(begun.event(event_id).reason)
    begun.configure(trial=False)
    begun.hurry()
    begun.sync()
    assert len(attachments_of(stand_in)) == 1


def test_a_picture_of_a_follow_up_is_shown_by_its_attachments_name(begun: Bridge, stand_in: StandIn) -> None:
    begun.configure(text_formatting="textile")
    text = (
        "<p>See</p><p><a href='/front/document.send.php?docid=91&amp;itemtype=Ticket'>"
        "<img alt='3bc71f89-1' src='/front/document.send.php?docid=91&amp;itemtype=Ticket'></a></p><p>there</p>"
    )
    shown = followup_event(2, of_followup=followup(content=text), content_format="html")
    assert begun.forward(document_event(1), shown) == [DONE, DONE]
    again = followup_event(3, of_followup=followup(78, content=text), content_format="html")
    assert begun.forward(again) == [DONE]
    assert [text for _, text, _ in notes_of(stand_in)] == ["See\n\n!scan-91.png!\n\nthere"] * 2


PICTURE = "<img src='/front/document.send.php?docid={}'>"


@pytest.mark.parametrize("is_before", [True, False])
def test_a_picture_of_a_ticket_is_shown_in_the_description_of_its_new_issue(
    sending: Bridge, stand_in: StandIn, is_before: bool
) -> None:
    """Its document arrives long before the first finished task, or right after it."""
    sending.configure(text_formatting="common_mark")
    shown = ticket(content=f"<p>See</p>{PICTURE.format(91)}<p>there</p>")
    finished = task_event(2, of_ticket=shown, content_format="html")
    if is_before:
        assert sending.forward(document_event(1)) == [SKIPPED]
        sending.receive(finished)
    else:
        sending.receive(finished, document_event(3, of_ticket=shown, content_format="html"))
    sending.sync()
    sending.sync()
    (issue,) = ours(stand_in)
    assert issue["description"].split() == ["See", "![](scan-91.png)", "there"]
    assert [name for _, name, _ in attachments_of(stand_in)] == ["scan-91.png"]


def test_a_picture_that_is_not_attached_stays_an_address_in_the_description(
    sending: Bridge, stand_in: StandIn
) -> None:
    sending.configure(text_formatting="common_mark", document_refused_types=["image/tiff"])
    private = document(91, is_private=True, item={"type": "ITILFollowup", "id": 7})
    refused = document(92, mime_type="image/tiff")
    sending.forward(document_event(1, of_document=private), document_event(2, of_document=refused))
    shown = ticket(content="".join(PICTURE.format(one) for one in (91, 92, 93)))
    base = "https://glpi.example.org"
    sending.forward(task_event(3, of_ticket=shown, content_format="html", helpdesk_url=base))
    (description,) = [issue["description"] for issue in ours(stand_in)]
    assert [f"docid={one}" in description for one in (91, 92, 93)] == [True] * 3
    assert attachments_of(stand_in) == []


def test_without_glpis_api_a_picture_stays_an_address_in_the_description(
    bridge: Bridge, stand_in: StandIn
) -> None:
    bridge.configure(sync_documents="on", text_formatting="common_mark")
    bridge.receive(document_event(1))
    shown, base = ticket(content=PICTURE.format(91)), "https://glpi.example.org"
    bridge.forward(task_event(2, of_ticket=shown, content_format="html", helpdesk_url=base))
    (issue,) = ours(stand_in)
    assert "docid=91" in issue["description"]


def test_a_picture_that_several_follow_ups_show_is_attached_before_the_first_of_them(
    begun: Bridge, stand_in: StandIn
) -> None:
    """All of them wait at once, as after an outage; one of them is private."""
    begun.configure(text_formatting="textile", sync_followups="all")
    text = "<p>See</p><img src='/front/document.send.php?docid=91'>"
    documents_of: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for number, (user, is_private) in enumerate([(BOB, False), (BOB, True), (ALICE, False)], 77):
        holder = {"type": "ITILFollowup", "id": number}
        shown = document(91, user=user, is_private=is_private, item=holder)
        note = followup(number, content=text, is_private=is_private)
        documents_of.append(document_event(number, of_document=shown))
        notes.append(followup_event(number, of_followup=note, content_format="html"))
    ids = begun.receive(*(event for both in zip(documents_of, notes, strict=True) for event in both))
    begun.sync()
    assert attachments_of(stand_in) == [("bob", "scan-91.png", SIZE)]
    assert [text for _, text, _ in notes_of(stand_in)] == ["See\n\n!scan-91.png!"] * 3
    assert code(begun, ids[2]) == Reason.PRIVATE_DOCUMENT
    assert code(begun, ids[4]) == Reason.EARLIER_DOCUMENT_EVENT


def test_a_person_who_is_forgotten_is_in_no_file_name_that_is_kept(begun: Bridge) -> None:
    stranger = {"id": 99, "email": "stranger@example.test", "name": "Sam Stranger"}
    named = document(name="CV Sam Stranger.pdf", user=stranger)
    assert begun.forward(document_event(1, of_document=named)) == [DONE]
    forget(begun.store, 99, None)
    with begun.store.transaction() as tx:
        kept = tx.ledger(Kind.DOCUMENT).get(4711_000_000_091)
        assert kept is not None
        texts = [str(kept.body), *(row.payload for row in tx.journal.find(limit=None))]
    assert not [one for one in texts if "stranger" in one.lower()], texts


def test_several_large_documents_are_each_whole(begun: Bridge, stand_in: StandIn, api: GlpiApi) -> None:
    stand_in.settings(attachment_max_kb=20_000)
    api.documents |= {91: bytes(9 * MEGABYTE), 92: CONTENT * 100_000}
    assert begun.forward(document_event(1), document_event(2, of_document=document(92))) == [DONE, DONE]
    assert [size for _, _, size in attachments_of(stand_in)] == [9 * MEGABYTE, SIZE * 100_000]


class SlowDownloads:
    """Delays each download, and counts how many run at once."""

    def __init__(self, api: GlpiApi, seconds: float) -> None:
        self._answer, self._seconds = api.answer, seconds
        self._change = threading.Lock()
        self.now = self.most = 0

    def answer(self, method: str, target: str, headers: Any, body: bytes) -> tuple[int, Any]:
        if not target.endswith("/Download"):
            return self._answer(method, target, headers, body)
        with self._change:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(self._seconds)
        with self._change:
            self.now -= 1
        return self._answer(method, target, headers, body)


def test_a_process_holds_two_files_at_once_and_other_documents_wait_for_a_moment(
    sending: Bridge, stand_in: StandIn, api: GlpiApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket_ids = with_issues(sending, 6)
    slow = SlowDownloads(api, 0.05)
    monkeypatch.setattr(api, "answer", slow.answer)
    for number in ticket_ids:
        sending.receive(document_event(1, of_ticket=ticket(number)))
    sending.sync_together(*ticket_ids)
    assert (slow.most, len(stand_in.state()["attachments"])) == (2, 6)


def test_a_document_that_waits_for_long_lets_its_ticket_go_and_comes_again(
    sending: Bridge, stand_in: StandIn, api: GlpiApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticket_ids = with_issues(sending, 4)
    monkeypatch.setattr(runner, "FILE_PATIENCE_S", 0.05)
    monkeypatch.setattr(api, "answer", SlowDownloads(api, 0.5).answer)
    events = [sending.receive(document_event(1, of_ticket=ticket(number)))[0] for number in ticket_ids]
    sending.sync_together(*ticket_ids)
    waiting = [one for one in events if sending.event(one).has_code(Reason.DOCUMENTS_UNDER_WAY)]
    assert (len(waiting), len(stand_in.state()["attachments"])) == (2, 2)
    assert all(sending.event(one).state == PENDING for one in waiting)
    sending.hurry()
    sending.sync_together(*ticket_ids)
    assert len(stand_in.state()["attachments"]) == 4


def with_issues(bridge: Bridge, count: int) -> list[int]:
    """Create issues for that many tickets; return the tickets' ids."""
    ticket_ids = list(range(5001, 5001 + count))
    for number in ticket_ids:
        bridge.receive(task_event(of_ticket=ticket(number), of_task=task(number)))
    bridge.sync_together(*ticket_ids)
    return ticket_ids


def test_documents_that_wait_for_others_are_sent_as_soon_as_those_are(
    sending: Bridge, stand_in: StandIn
) -> None:
    """The sweep, which would come seconds later, is not involved."""
    ticket_ids = range(5001, 5009)
    for number in ticket_ids:
        sending.receive(task_event(of_ticket=ticket(number), of_task=task(number)))
    sending.sync_together(*ticket_ids)
    for number in ticket_ids:
        sending.receive(document_event(1, of_ticket=ticket(number)))
    notified = set(ticket_ids)
    for _ in ticket_ids:
        sending.sync_together(*notified)
        notified = set(sending.notified)
        sending.notified.clear()
    attached = {one["issue_id"] for one in stand_in.state()["attachments"]}
    assert len(attached) == len(ticket_ids)
