"""Reasons as codes: what a version before codes wrote reads well, and both versions work beside each other."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import insert, select, text, update
from sqlalchemy.orm import Session

from producer.admin.migrations.upgrading import upgrade
from producer.admin.presenters.shapes import Event, Held
from producer.admin.queries.story import Trace, trace_ticket
from producer.admin.records.transaction import Store
from shared.errors import TrackerRejected
from shared.notices.faults import Detail
from shared.notices.kinds import Kind
from shared.notices.notice import Notice, written
from shared.notices.reasons import Reason
from shared.notices.render import sentence
from shared.notices.steps import What
from shared.store.journal.trace import Step
from shared.store.tables.database import Database
from shared.store.tables.journal import (
    EventState,
    JournalEvent,
    TicketState,
    TraceStep,
)
from tests.integration.store.test_migrations_on_data import database, tables
from tests.support.events import stored_event, ticket_event

__all__ = ["database"]
OLD_NO_LINK = (
    "neither the ticket's helpdesk project nor its entity is linked to a tracker project "
    "(link one with `deskbridge link`, then replay)"
)
OLD_ALIKE = (
    "a backup was restored, and the tracker has one made since that is alike in part: "
    "it may be this one, edited, or another's that was not sent again yet"
)
AT = datetime(2026, 11, 20, 3, tzinfo=UTC)
SNAPSHOT = '{"id": 4711, "title": "t", "content": null, "status": 2, "entity_id": 3}'
PAYLOAD = (
    '{"event": "ticket.updated", "occurred_at": "2026-11-20T03:00:00Z", '
    '"ticket": {"id": 4711, "title": "t", "status": 2, "entity_id": 3}}'
)


def journal_row(number: int, state: str, reason: str | None) -> dict[str, Any]:
    return {
        "id": number, "delivery_id": f"d{number}", "digest": "x", "event": "ticket.updated", "key": "ticket:4711",
        "ticket_id": 4711, "task_id": None, "occurred_at": AT, "clamped": False, "sequence": 0, "received_at": AT,
        "payload": PAYLOAD, "state": state, "reason": reason, "attempts": 0, "next_attempt_at": None,
        "ended_at": AT,
    }  # fmt: skip


def of_before(database: Database) -> Store:
    """Return a database with rows as the version before codes wrote them."""
    upgrade(database)
    found = tables(database)
    with database.engine.begin() as connection:
        rows = [
            journal_row(1, "skipped", OLD_NO_LINK),
            journal_row(2, "skipped", "something else"),
            journal_row(3, "pending", None),
        ]
        connection.execute(insert(found["journal"]), rows)
        ledger = {
            "ticket_id": 4711, "state": "held", "attempt": 1, "rounds": 0, "adopted": False, "duplicate": False,
            "candidates": "[12]", "reason": OLD_ALIKE, "changed_at": AT,
        }  # fmt: skip
        connection.execute(insert(found["ticket_issue_link"]), [ledger])
        state = {
            "ticket_id": 4711, "event_id": 1, "occurred_at": AT, "sequence": 0, "status": 2, "snapshot": SNAPSHOT,
            "given_event_id": None, "status_due": False, "status_attempts": 0, "status_next_at": None,
            "status_reason": "refused in the tracker's words",
        }  # fmt: skip
        connection.execute(insert(found["ticket_state"]), [state])
        step = {
            "id": 1,
            "ticket_id": 4711,
            "task_id": None,
            "at": AT,
            "what": "Issue #9 created",
            "why": "so",
        }
        connection.execute(insert(found["trace_step"]), [step])
    return Store(database)


def test_what_the_version_before_codes_wrote_is_told_in_the_words_of_today(database: Database) -> None:
    store = of_before(database)
    with store.transaction() as tx:
        third, second, first = tx.journal.find()
        held = Held.of(Kind.TICKET, tx.issues.waiting_for_a_person()[0])
        state = tx.statuses.get(4711)
    assert (Event.of(first).code, first.reason) == ("no_link", sentence(Reason.NO_LINK()))
    assert {
        "code": "as_written",
        "params": {"text": "something else"},
        "reason": "something else",
    }.items() <= Event.of(second).model_dump().items()
    assert (Event.of(third).code, Event.of(third).params, third.reason) == (None, {}, None)
    assert (held.code, held.reason) == ("alike_after_restore", sentence(Reason.ALIKE_AFTER_RESTORE()))
    assert state is not None
    assert state.status_reason == "refused in the tracker's words"
    step = Trace.of(trace_ticket(store, 4711)).steps[-1]
    assert (step.code, step.what, step.why) == ("as_written", "Issue #9 created", "so")


def test_what_was_skipped_for_want_of_a_link_before_is_found_when_one_is_made(database: Database) -> None:
    store = of_before(database)
    with store.transaction() as tx:
        assert [(ticket_id, count) for ticket_id, count, _ in tx.journal.skipped_tickets(Reason.NO_LINK)] == [
            (4711, 1)
        ]
        tx.journal.replay_skipped([4711], Reason.NO_LINK, Reason.LINK_WAS_MADE())
    with store.transaction() as tx:
        assert [row.state for row in tx.journal.find()] == ["pending", "skipped", "pending"]


def test_a_status_that_was_dropped_before_is_still_owed(store: Store, append: Any) -> None:
    (first,) = append(ticket_event(1))
    with store.transaction() as tx:
        row = tx.journal.get(first.event_id)
        assert row is not None
        tx.statuses.fold_all([(row, stored_event(row.payload))], 15)
    for columns in (
        {"status_reason": "refused", "status_code": None, "status_dropped": None},
        {"status_reason": "refused", "status_code": "tracker_busy", "status_dropped": None},
    ):
        with store.database.transaction() as session:
            set_columns(session, TicketState.__table__, status_due=False, **columns)
        with store.transaction() as tx:
            tx.statuses.give_again(4711, first.event_id, 15, 2, is_update=False, is_fresh=True)
            state = tx.statuses.get(4711)
            assert state is not None
            assert state.status_due, columns


def set_columns(session: Session, table: Any, **columns: Any) -> None:
    session.execute(update(table).values(**columns))


def test_a_reason_that_an_old_process_wrote_last_is_the_newest(store: Store, append: Any) -> None:
    (one,) = append(ticket_event(1))
    with store.transaction() as tx:
        tx.journal.wait([one.event_id], None, Reason.BEING_CREATED(kind=Kind.TICKET))
    with store.database.transaction() as session:
        set_columns(session, JournalEvent.__table__, reason="as the version before says it", state="done")
    with store.transaction() as tx:
        assert tx.journal.find()[0].notice == written("as the version before says it")


def test_an_old_process_sees_that_there_is_a_reason_and_its_code(store: Store, append: Any) -> None:
    (one,) = append(ticket_event(1))
    with store.transaction() as tx:
        tx.journal.end([one.event_id], EventState.SKIPPED, Reason.NO_LINK())
        tx.trace.append([step_of(4711)])
    with store.database.transaction() as session:
        assert session.execute(text("SELECT reason FROM journal")).scalar_one() == "no_link"
        assert session.execute(text("SELECT what, why FROM trace_step")).one() == ("issue_went_away", "")


def step_of(ticket_id: int) -> Step:
    return Step(ticket_id, What.ISSUE_WENT_AWAY(issue_id=9))


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
        columns = {"reason": "of_tomorrow", "code": "of_tomorrow", "params": {"n": 7}}
        set_columns(session, JournalEvent.__table__, **columns)
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
