"""Normal situations are neither shown nor logged as refusals, and are described in plain words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from structlog.testing import capture_logs

from producer.admin.queries.story import trace_ticket
from shared.notices.faults import Fault
from shared.store.configuration.mappings import MappingKind
from shared.store.tables.journal import EventState
from tests.failures.stage import Stage
from tests.support.events import ticket, ticket_event


def refused(lines: Iterable[Any]) -> list[tuple[str, str, int]]:
    """Return level, text and status of each log line about a call that the tracker refused."""
    return [(one["log_level"], one["event"], one["status"]) for one in lines if "refused" in one["event"]]


def test_who_is_a_member_already_is_no_refusal(stage: Stage) -> None:
    stage.bridge.configure(membership_for="matched")
    with capture_logs() as lines:
        assert stage.work() == EventState.DONE
    told = [one for one in trace_ticket(stage.bridge.store, 4711).steps if one.call]
    assert any(one.call and one.call["status"] == 422 for one in told), "the membership was asked for"
    assert Fault.TRACKER_REJECTED not in stage.trace().codes
    assert refused(lines) == [("info", "the tracker refused a call, as expected", 422)]


def test_the_doctor_logs_no_refusal_where_all_is_well(stage: Stage) -> None:
    stage.work()
    with capture_logs() as lines:
        stage.findings()
    assert refused(lines) == [("info", "the tracker refused a call, as expected", 412)]


def test_one_is_one(stage: Stage) -> None:
    stage.bridge.configure(status_map={1: 1})
    stage.bridge.forward(ticket_event(5, of_ticket=ticket(4712)), ticket_id=4712)
    with stage.bridge.store.transaction() as tx:
        tx.mappings.remove(MappingKind.ENTITY, 3)
    assert "(1 ticket)" in stage.doctor().text
    assert "1 tickets" not in stage.doctor().text
