"""After lost answers, lost workers and restored backups each document is attached once, or on hold."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deploy.sandbox.tracker.control import StandIn
from producer.admin.backfill.replay import replay_events
from producer.admin.review.held import decide
from shared.events.snapshots import document_key
from shared.notices.faults import Fault
from shared.notices.kinds import Kind
from shared.notices.reasons import Reason
from shared.store.ledger.send_window import SendWindow
from shared.store.tables.journal import EventState
from shared.store.tables.ledger import LedgerState
from tests.integration.documents import SIZE
from tests.integration.test_recovery import Backup
from tests.support.bridge import Bridge
from tests.support.crashes import WorkerDied, die
from tests.support.events import document, document_event, followup_event, on_ticket, task_event
from tests.support.ledger import (
    a_sweep,
    after_the_put,
    attachments_of,
    let_leases_run_out,
    notes_of,
    row,
    stopped,
    until_settled,
)
from worker.ticket.create import Link

ISSUE, UPLOADS = "/issues/6.json", "/uploads.json"
KEY = 4711_000_000_091
LOST_AFTER = ["reset_after", "timeout_after", "garbage_after", "status_after", "page_after"]
LOST_BEFORE = ["reset_before", "timeout_before", "status_before"]
ONCE = [("alice", "scan-91.png", SIZE)]
WHOSE = [
    pytest.param(document()["user"], id="the person uploads"),
    pytest.param({"id": 99, "email": "stranger@example.test"}, id="the API user uploads"),
]


def lose(stand_in: StandIn, fault: str, method: str = "PUT", path: str = ISSUE) -> None:
    seconds = {"seconds": 7} if "timeout" in fault else {}
    stand_in.fault(fault, method=method, path=path, count=1, **seconds)


def later(bridge: Bridge) -> None:
    """Close the circuit breaker, and resolve everything that is in doubt."""
    bridge.redis.flushdb()
    until_settled(bridge)


@pytest.mark.promise("OPS-38")
def test_a_new_document_with_the_id_of_a_lost_one_waits_for_a_person(
    begun: Bridge, stand_in: StandIn
) -> None:
    lost, new = (document(created_at=f"2026-01-05T{time}+01:00") for time in ("08:30:07", "09:30:31"))
    assert begun.forward(document_event(1, of_document=lost)) == ["done"]
    assert begun.forward(document_event(60, of_document=new)) == ["on_hold"]
    assert row(begun, Kind.DOCUMENT, KEY).has_code(Reason.HELPDESK_ID_REUSED)
    assert attachments_of(stand_in) == ONCE
    decide(begun.store, Kind.DOCUMENT, KEY, None)
    until_settled(begun)
    assert len(attachments_of(stand_in)) == 2


@pytest.mark.parametrize("fault", [*LOST_AFTER, *LOST_BEFORE])
def test_an_attachment_whose_answer_was_lost_is_there_once(
    begun: Bridge, stand_in: StandIn, fault: str
) -> None:
    lose(stand_in, fault)
    (event_id,) = begun.receive(document_event(1))
    begun.sync()
    assert row(begun, Kind.DOCUMENT, KEY).state == LedgerState.IN_DOUBT
    later(begun)
    assert attachments_of(stand_in) == ONCE
    assert begun.event(event_id).state == "done", begun.steps()


@pytest.mark.parametrize("status", [429, 502, 503])
@pytest.mark.parametrize("event", [document_event(1), followup_event(1)], ids=lambda one: one["event"])
def test_an_answer_of_a_proxy_that_came_after_the_tracker_acted_repeats_nothing(
    begun: Bridge, stand_in: StandIn, event: dict[str, object], status: int
) -> None:
    """A proxy that is busy or times out says so after Redmine has carried out the request."""
    stand_in.fault("status_after", method="PUT", path=ISSUE, status=status, retry_after=1, count=1)
    begun.receive(event)
    begun.sync()
    later(begun)
    assert len(attachments_of(stand_in)) + len(notes_of(stand_in)) == 1, begun.steps()


@pytest.mark.parametrize("fault", [*LOST_AFTER[:3], "status_before"])
def test_an_attachment_that_could_not_be_read_back_is_found_later(
    begun: Bridge, stand_in: StandIn, fault: str
) -> None:
    (event_id,) = begun.receive(document_event(1))
    with after_the_put(lambda: lose(stand_in, fault, method="GET")):
        begun.sync()
    assert row(begun, Kind.DOCUMENT, KEY).state == LedgerState.IN_DOUBT
    later(begun)
    assert attachments_of(stand_in) == ONCE
    assert begun.event(event_id).state == "done", begun.steps()


@pytest.mark.parametrize("status", [401, 403, 404, 429])
def test_a_refused_read_back_does_not_let_the_document_be_attached_again(
    begun: Bridge, stand_in: StandIn, status: int
) -> None:
    begun.receive(document_event(1))
    refuse = partial(stand_in.fault, "status_before", method="GET", path=ISSUE, status=status, count=1)
    with after_the_put(refuse):
        begun.sync()
    later(begun)
    assert attachments_of(stand_in) == ONCE, begun.steps()
    assert row(begun, Kind.DOCUMENT, KEY).state == LedgerState.LINKED


@pytest.mark.parametrize("fault", [*LOST_AFTER, *LOST_BEFORE])
def test_an_upload_whose_answer_was_lost_is_made_again_and_claims_nothing(
    begun: Bridge, stand_in: StandIn, fault: str
) -> None:
    stand_in.fault(
        fault, method="POST", path=UPLOADS, count=1, **({"seconds": 1} if "timeout" in fault else {})
    )
    (event_id,) = begun.receive(document_event(1))
    begun.sync()
    later(begun)
    assert attachments_of(stand_in) == ONCE
    assert begun.event(event_id).state == "done", begun.steps()
    assert row(begun, Kind.DOCUMENT, KEY).attempt == 1


def test_an_upload_that_redmine_has_dropped_is_made_again(begun: Bridge, stand_in: StandIn) -> None:
    """Redmine answers 422 to an unknown upload token."""

    def meanwhile() -> None:
        (upload,) = [one for one in stand_in.state()["attachments"] if one["issue_id"] is None]
        stand_in.remove("attachments", upload["id"])

    (event_id,) = begun.receive(document_event(1))
    with stopped("POST", UPLOADS, meanwhile):
        begun.sync()
    assert row(begun, Kind.DOCUMENT, KEY).state == LedgerState.FREE
    later(begun)
    assert attachments_of(stand_in) == ONCE
    assert begun.event(event_id).state == "done"


@pytest.mark.parametrize("whose", WHOSE)
def test_an_upload_that_redmine_drops_each_time_is_made_once_in_each_attempt(
    begun: Bridge, stand_in: StandIn, whose: dict[str, Any]
) -> None:
    def drop() -> None:
        (upload,) = stand_in.state()["attachments"]
        stand_in.remove("attachments", upload["id"])

    (event_id,) = begun.receive(document_event(1, of_document=document(user=whose)))
    for attempt in (1, 2):
        begun.hurry()
        with stopped("POST", UPLOADS, drop):
            begun.sync()
        event = begun.event(event_id)
        assert (event.state, event.attempts) == (EventState.PENDING, attempt)
        assert event.notice == Fault.UPLOAD_DROPPED()
        assert row(begun, Kind.DOCUMENT, KEY).state == LedgerState.FREE
    later(begun)
    assert begun.event(event_id).state == EventState.DONE
    assert len(attachments_of(stand_in)) == 1


@pytest.mark.parametrize("whose", WHOSE)
def test_a_refusal_that_is_not_about_the_upload_is_final_and_nothing_is_uploaded_again(
    begun: Bridge, stand_in: StandIn, whose: dict[str, Any]
) -> None:
    stand_in.fault("status_before", method="PUT", path=ISSUE, status=422)
    (event_id,) = begun.receive(document_event(1, of_document=document(user=whose)))
    begun.sync()
    later(begun)
    assert begun.event(event_id).state == EventState.FAILED, begun.steps()
    assert len(stand_in.state()["attachments"]) == 1


@pytest.mark.parametrize("whose", WHOSE)
def test_a_document_that_the_first_of_two_equal_calls_attached_is_there_once(
    begun: Bridge, stand_in: StandIn, whose: dict[str, Any]
) -> None:
    """A proxy may repeat a PUT; the answer is to the second one, for which the token is no longer valid."""
    stand_in.fault("status_after", method="PUT", path=ISSUE, status=422, count=1)
    (event_id,) = begun.receive(document_event(1, of_document=document(user=whose)))
    begun.sync()
    assert begun.event(event_id).state == EventState.DONE, begun.steps()
    assert len(attachments_of(stand_in)) == 1


def test_documents_of_one_name_and_size_that_are_both_unclear_are_two_attachments(
    begun: Bridge, stand_in: StandIn
) -> None:
    """Their ids distinguish them."""
    for at, number in enumerate((91, 92), 1):
        lose(stand_in, "reset_after" if number == 91 else "reset_before")
        begun.receive(document_event(at, of_document=document(number, name="same.txt")))
        begun.sync()
    later(begun)
    later(begun)
    assert [name for _, name, _ in attachments_of(stand_in)] == ["same.txt", "same.txt"]
    linked = {row(begun, Kind.DOCUMENT, KEY + one).tracker_id for one in (0, 1)}
    assert len(linked) == 2


@pytest.mark.parametrize("policy", ["lookup", "hold"])
def test_a_worker_killed_between_204_and_commit_leaves_one_attachment(
    begun: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    begun.configure(in_doubt_policy=policy)

    begun.receive(document_event(1))
    with monkeypatch.context() as patched:
        patched.setattr(Link, "carry_out", die)
        with pytest.raises(WorkerDied):
            begun.sync()
    assert row(begun, Kind.DOCUMENT, KEY).state == LedgerState.CLAIMED
    let_leases_run_out(begun)
    until_settled(begun)
    assert attachments_of(stand_in) == ONCE
    expected = LedgerState.LINKED if policy == "lookup" else LedgerState.ON_HOLD
    assert row(begun, Kind.DOCUMENT, KEY).state == expected


def test_a_worker_killed_between_claim_and_send_leaves_a_document_that_another_attaches(
    begun: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun.receive(document_event(1))
    with monkeypatch.context() as patched:
        patched.setattr(SendWindow, "check", die)
        with pytest.raises(WorkerDied):
            begun.sync()
    assert row(begun, Kind.DOCUMENT, KEY).state == LedgerState.CLAIMED
    assert attachments_of(stand_in) == []
    let_leases_run_out(begun)
    until_settled(begun)
    assert attachments_of(stand_in) == ONCE


@pytest.mark.parametrize("sent", [True, False])
@pytest.mark.parametrize("policy", ["lookup", "hold"])
def test_a_worker_that_was_stopped_at_its_call_while_another_takes_over(
    begun: Bridge, stand_in: StandIn, policy: str, sent: bool
) -> None:
    """A worker that sends late adds a second attachment; then both are shown to a person."""
    begun.configure(in_doubt_policy=policy)

    def meanwhile() -> None:
        let_leases_run_out(begun)
        for _ in range(3):
            begun.hurry()
            begun.service.sync(4711)

    begun.receive(document_event(1))
    with stopped("PUT", ISSUE, meanwhile, sent=sent):
        begun.sync()
    until_settled(begun)
    state = row(begun, Kind.DOCUMENT, KEY)
    if len(attachments_of(stand_in)) == 1:
        assert state.state == LedgerState.LINKED
    else:
        assert not sent
        assert (policy, state.state) == ("lookup", LedgerState.ON_HOLD)


def test_an_unclear_document_is_on_hold_if_the_policy_says_so_and_a_person_decides(
    begun: Bridge, stand_in: StandIn
) -> None:
    begun.configure(in_doubt_policy="hold")
    lose(stand_in, "reset_after")
    (event_id,) = begun.receive(document_event(1))
    begun.sync()
    assert row(begun, Kind.DOCUMENT, KEY).state == LedgerState.ON_HOLD
    (attachment,) = stand_in.state()["attachments"]
    decide(begun.store, Kind.DOCUMENT, KEY, attachment["id"])
    begun.sync()
    assert begun.event(event_id).state == EventState.DONE
    assert attachments_of(stand_in) == ONCE


@pytest.mark.promise("OPS-05")
def test_documents_that_redmine_has_beyond_a_backup_are_not_attached_again(
    begun: Bridge, stand_in: StandIn, tmp_path: Path
) -> None:
    backup = Backup(begun, tmp_path)
    events = (
        document_event(1, of_document=document(91, size=SIZE)),
        followup_event(2),
        document_event(3, of_document=document(92, name="image001.png", size=SIZE)),
    )
    assert begun.forward(*events) == [EventState.DONE] * 3
    backup.restore()
    assert begun.forward(*events) == [EventState.DONE] * 3, begun.steps()
    assert begun.forward(document_event(4, of_document=document(93))) == [EventState.DONE]
    assert [name for _, name, _ in attachments_of(stand_in)] == [
        "scan-91.png",
        "image001-92.png",
        "scan-93.png",
    ]


def test_without_its_size_a_document_beyond_a_backup_is_recognised_too(
    begun: Bridge, stand_in: StandIn, tmp_path: Path
) -> None:
    backup = Backup(begun, tmp_path)
    assert begun.forward(document_event(1)) == [EventState.DONE]
    backup.restore()
    assert begun.forward(document_event(1)) == [EventState.DONE], begun.steps()
    assert attachments_of(stand_in) == ONCE


def test_an_issue_that_was_deleted_waits_for_a_person_and_gets_its_documents_again(
    begun: Bridge, stand_in: StandIn
) -> None:
    begun.forward(document_event(1))
    stand_in.remove("issues", 6)
    (event_id,) = begun.receive(document_event(2, of_document=document(92)))
    begun.sync()
    assert begun.event(event_id).state == EventState.ON_HOLD
    decide(begun.store, Kind.TICKET, 4711, None)
    until_settled(begun)
    assert [name for _, name, _ in attachments_of(stand_in, 7)] == ["scan-91.png", "scan-92.png"]


def test_the_sweep_notifies_a_ticket_whose_document_is_in_doubt_and_that_no_event_asks_for(
    begun: Bridge, stand_in: StandIn
) -> None:
    lose(stand_in, "reset_after")
    (event_id,) = begun.receive(document_event(1))
    begun.sync()
    with begun.store.transaction() as tx:
        tx.journal.end([event_id], EventState.SKIPPED, Reason.DOCUMENTS_OFF())
    begun.hurry()
    a_sweep(begun).notify_due()
    assert begun.notified == [4711]
    begun.sync()
    assert row(begun, Kind.DOCUMENT, KEY).state == LedgerState.LINKED


TICKETS = itertools.count(5001)
"""Numbers of the examples' tickets."""
FAULTS = st.lists(
    st.tuples(
        st.sampled_from([("POST", UPLOADS), ("PUT", None), ("GET", None)]),
        st.sampled_from(
            ["reset_after", "reset_before", "garbage_after", "status_after", "page_after", "none"]
        ),
        st.integers(min_value=1, max_value=2),
    ),
    max_size=6,
)
EVENTS = st.lists(
    st.tuples(
        st.integers(min_value=91, max_value=94), st.sampled_from(["same.txt", "other.txt"]), st.booleans()
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.promise("OPS-14")
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(faults=FAULTS, given_events=EVENTS)
def test_whatever_is_lost_each_document_is_attached_once(
    begun: Bridge,
    stand_in: StandIn,
    faults: list[tuple[tuple[str, str | None], str, int]],
    given_events: list[tuple[int, str, bool]],
) -> None:
    ticket_id = next(TICKETS)
    begun.redis.flushdb()
    stand_in.clear_faults()
    begun.receive(on_ticket(task_event(0), ticket_id, 10_000 + ticket_id))
    begun.sync(ticket_id)
    issue_id = row(begun, Kind.TICKET, ticket_id).tracker_id
    assert issue_id is not None
    wanted, pending = set[int](), list(faults)
    for at, (number, name, dies) in enumerate(given_events, 1):
        if pending and pending[0][1] != "none":
            (method, path), fault, count = pending.pop(0)
            stand_in.fault(fault, method=method, path=path or f"/issues/{issue_id}.json", count=count)
        begun.receive(on_ticket(document_event(at, of_document=document(number, name=name)), ticket_id))
        wanted.add(number)
        with pytest.MonkeyPatch.context() as patched:
            if dies:
                patched.setattr(Link, "carry_out", die)
            try:
                begun.sync(ticket_id)
            except WorkerDied:
                let_leases_run_out(begun)
    stand_in.clear_faults()
    for _ in range(12):
        begun.redis.flushdb()
        begun.hurry()
        let_leases_run_out(begun)
        begun.sync(ticket_id)
    rows = [row(begun, Kind.DOCUMENT, document_key(ticket_id, one)) for one in wanted]
    assert [one.state for one in rows] == [LedgerState.LINKED] * len(wanted), begun.steps(ticket_id)
    found = {one["id"] for one in stand_in.state()["attachments"] if one["issue_id"] == issue_id}
    assert found == {one.tracker_id for one in rows}, begun.steps(ticket_id)
    assert len(found) == len(wanted)


def test_an_attachment_of_the_api_user_that_was_found_after_a_lost_answer_is_told(
    begun: Bridge, stand_in: StandIn
) -> None:
    carol = {"id": 9, "email": "carol@example.test"}
    stand_in.patch("roles", 1, permissions=["view_issues"])
    stand_in.fault("reset_after", method="PUT", path="/issues/6.json", count=1)
    (event_id,) = begun.receive(document_event(1, of_document=document(user=carol)))
    begun.sync()
    until_settled(begun)
    assert [who for who, _, _ in attachments_of(stand_in)] == ["admin"]
    notice = begun.event(event_id).notice
    assert notice
    assert notice.code == Reason.DOCUMENT_ATTACHED_AS_ANOTHER, begun.steps()


def test_a_file_that_is_too_large_for_a_proxy_fails_at_once_and_no_note_waits_for_it(
    begun: Bridge, stand_in: StandIn
) -> None:
    stand_in.fault("page_before", method="POST", path="/uploads.json", status=413)
    ids = begun.receive(document_event(1), followup_event(2))
    begun.sync()
    assert [begun.event(one).state for one in ids] == [EventState.FAILED, EventState.DONE]
    assert "client_max_body_size" in (begun.event(ids[0]).reason or "")
    stand_in.clear_faults()
    replay_events(begun.store, ids[:1])
    begun.sync()
    assert attachments_of(stand_in) == [("alice", "scan-91.png", SIZE)]
