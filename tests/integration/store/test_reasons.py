"""Reasons are stored as codes with parameters; texts from other programs are stored and shown unchanged."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select, update

from producer.admin.presenters.shapes import Event
from producer.admin.records.transaction import Store
from shared.errors import TrackerRejected
from shared.notices.faults import Detail
from shared.notices.notice import Notice, written
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.store.journal.trace import Step
from shared.store.tables.journal import EventState, JournalEvent, TraceStep
from tests.support.events import ticket_event


def test_an_event_without_a_reason_has_neither_code_nor_sentence(store: Store, append: Any) -> None:
    append(ticket_event(1))
    with store.transaction() as tx:
        row = tx.journal.find()[0]
        shown = Event.of(row)
    assert (shown.code, shown.params, shown.reason, row.reason) == (None, {}, None, None)


def test_a_text_of_another_program_is_kept_and_shown_as_it_is(store: Store, append: Any) -> None:
    (one,) = append(ticket_event(1))
    with store.transaction() as tx:
        tx.journal.end([one.event_id], EventState.SKIPPED, written("Something {else}"))
    with store.transaction() as tx:
        row = tx.journal.find()[0]
        shown = Event.of(row).model_dump()
    assert row.notice == written("Something {else}")
    assert {
        "code": "as_written", "params": {"text": "Something {else}"}, "reason": "Something {else}"
    }.items() <= shown.items()  # fmt: skip


def test_a_refusal_is_kept_with_the_tracker_s_own_words(store: Store, append: Any) -> None:
    (one,) = append(ticket_event(1))
    refusal = TrackerRejected("PUT", "/issues/9.json", status=422, errors=["Betreff muß ausgefüllt werden"])
    with store.transaction() as tx:
        tx.journal.end([one.event_id], EventState.FAILED, Reason.STATUS_REFUSED(because=refusal.notice))
    with store.transaction() as tx:
        shown = Event.of(tx.journal.find()[0]).model_dump()
    assert shown["code"] == "status_refused"
    assert shown["params"] == {
        "because": {
            "code": "tracker_rejected",
            "params": {
                "method": "PUT",
                "path": "/issues/9.json",
                "status": 422,
                "errors": ["Betreff muß ausgefüllt werden"],
            },
        }
    }
    assert shown["reason"] == (
        "Redmine did not accept the status: Redmine rejected the call: PUT /issues/9.json answered 422: "
        "Betreff muß ausgefüllt werden"
    )


def test_a_code_of_a_newer_version_is_shown_as_it_is(store: Store, append: Any) -> None:
    append(ticket_event(1))
    with store.database.transaction() as session:
        session.execute(update(JournalEvent).values(code="of_tomorrow", params={"n": 7}))
    with store.transaction() as tx:
        row = tx.journal.find()[0]
    assert (row.notice, row.reason) == (Notice("of_tomorrow", {"n": 7}), "of_tomorrow (n=7)")


def test_a_step_comes_back_with_what_it_names(store: Store) -> None:
    told = What.CALL_UNANSWERED(
        method="GET", path="/users.json", actor=Notice("as_administrator"), ms=5, error=Detail.TIME_OUT()
    )
    with store.transaction() as tx:
        tx.trace.append([Step(4711, told)])
    with store.database.transaction() as session:
        step = session.scalars(select(TraceStep)).one()
    assert step.notice == told
    assert (step.what, step.why) == (
        "GET /users.json as the API user got no answer after 5 ms",
        "no answer within 5 s",
    )
