"""The hours of a month: those known from GLPI beside those logged in Redmine, and why they differ."""

from __future__ import annotations

import csv
import io
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import text

from deploy.sandbox.tracker.control import StandIn
from producer.admin.queries.hours import HoursReport, PersonHours, Why, hours_of
from producer.admin.queries.redmine_hours import month_of
from producer.admin.records.rights import Right
from producer.admin.services import Services
from producer.console.rendering.addresses import address
from shared.notices.kinds import Kind
from tests.integration.console.conftest import ComeIn, Console
from tests.support.bridge import Bridge
from tests.support.events import BOB, task, task_event, ticket
from tests.support.ledger import change

NOW = datetime.now(UTC)
MONTH, DAY = f"{NOW:%Y-%m}", f"{NOW:%Y-%m-%d}"
STRANGER = {"id": 99, "email": "stranger@example.test"}


@pytest.fixture
def services(console: Console) -> Services:
    """The console's collaborators."""
    found: Services = console.app.state.services
    return found


def done(bridge: Bridge, number: int, hours: float, minute: float = 0, **changes: Any) -> list[str]:
    """Forward a finished ticket task of today."""
    return bridge.forward(
        task_event(minute, of_task=task(number, actiontime=int(hours * 3600), date=DAY, **changes))
    )


def of(report: HoursReport, person: str) -> PersonHours:
    (found,) = [one for one in report.people if one.person == person]
    return found


def sums(one: PersonHours) -> tuple[float, float, dict[Why, float]]:
    return one.glpi_hours, one.redmine_hours, one.reasons


def test_what_is_alike_has_no_difference_and_what_redmine_alone_has_stands_apart(
    bridge: Bridge, services: Services, stand_in: StandIn
) -> None:
    done(bridge, 601, 1.5)
    done(bridge, 602, 1.25, user=BOB)
    _, client = services.connector.connect()
    own = {"time_entry": {"issue_id": 6, "hours": 2, "activity_id": 9, "spent_on": DAY}}
    client.call("POST", "/time_entries.json", body=own, login="alice")
    report = hours_of(services, MONTH)
    assert report.live
    assert sums(of(report, "Alice Archer")) == (1.5, 1.5, {})
    assert of(report, "Alice Archer").other_hours == 2.0
    assert sums(of(report, "Bob Baker")) == (1.25, 1.25, {})
    assert report.differences == []


def test_each_difference_has_its_reason(bridge: Bridge, services: Services, stand_in: StandIn) -> None:
    done(bridge, 601, 1.5)
    done(bridge, 602, 1.0)
    done(bridge, 603, 1.0)
    done(bridge, 604, 0.5)
    done(bridge, 605, 0.25)
    done(bridge, 601, 2.0, minute=5)  # logged hours are not changed
    _, client = services.connector.connect()
    stand_in.patch("time_entries", 2, hours=3.0)
    client.call("DELETE", "/time_entries/3.json")
    change(bridge, Kind.TICKET_TASK, 604, state="on_hold")
    bridge.forward(
        task_event(of_ticket=ticket(4800, entity_id=77), of_task=task(606, actiontime=7200, date=DAY)),
        ticket_id=4800,
    )
    bridge.configure(default_activity_id=77)
    done(bridge, 607, 0.75)
    report = hours_of(services, MONTH)
    why = {one.task_id: (one.why, one.glpi_hours, one.redmine_hours) for one in report.differences}
    assert why == {
        601: (Why.EDITED_IN_GLPI, 2.0, 1.5),
        602: (Why.EDITED_IN_REDMINE, 1.0, 3.0),
        603: (Why.NOT_IN_REDMINE, 1.0, 0.0),
        604: (Why.ON_HOLD, 0.5, 0.0),
        606: (Why.NO_MAPPING, 2.0, 0.0),
        607: (Why.FAILED, 0.75, 0.0),
    }
    alice = of(report, "Alice Archer")
    assert alice.glpi_hours == 7.5
    assert alice.difference == round(sum(alice.reasons.values()), 2)


def test_what_redmine_lists_rounded_is_compared_and_summed_as_it_was_sent(
    bridge: Bridge, services: Services, stand_in: StandIn
) -> None:
    for number in (601, 602, 603):
        done(bridge, number, 1 / 6)
    report = hours_of(services, MONTH)
    assert (sums(of(report, "Alice Archer")), report.differences) == ((0.5, 0.5, {}), [])
    assert of(report, "Alice Archer").difference == 0
    stand_in.patch("time_entries", 2, hours=0.16)
    (difference,) = hours_of(services, MONTH).differences
    assert (difference.task_id, difference.why) == (602, Why.EDITED_IN_REDMINE)


def test_hours_of_tasks_whose_events_were_pruned_are_those_that_were_sent(
    bridge: Bridge, services: Services
) -> None:
    for number in (601, 602, 603):
        done(bridge, number, 1 / 6)
    with bridge.store.database.transaction() as session:
        session.execute(text("DELETE FROM journal"))
    assert sums(of(hours_of(services, MONTH), "Alice Archer")) == (0.5, 0.5, {})


def test_hours_under_another_name_are_missing_to_one_and_too_many_to_the_other(
    bridge: Bridge, services: Services
) -> None:
    done(bridge, 601, 1.5, user=STRANGER)
    report = hours_of(services, MONTH)
    assert sums(of(report, "stranger@example.test")) == (1.5, 0.0, {Why.OTHER_NAME: 1.5})
    assert sums(of(report, "Redmine Admin")) == (0.0, 1.5, {Why.OTHER_NAME: -1.5})


def test_hours_of_a_planned_task_are_the_technician_s_if_the_setting_says_so(
    bridge: Bridge, services: Services
) -> None:
    bridge.configure(task_author="technician")
    done(bridge, 601, 1.5, technician=BOB)
    assert sums(of(hours_of(services, MONTH), "Bob Baker")) == (1.5, 1.5, {})


def test_a_task_that_was_deleted_or_is_a_copy_counts_no_hours(bridge: Bridge, services: Services) -> None:
    done(bridge, 601, 1.5)
    done(bridge, 602, 4.0, copy_of=601)
    bridge.forward(
        {
            "event": "ticket_task.deleted",
            "occurred_at": NOW.isoformat(),
            "ticket": {"id": 4711},
            "task": {"id": 601},
        }
    )
    report = hours_of(services, MONTH)
    assert sums(of(report, "Alice Archer")) == (0.0, 1.5, {Why.DELETED_IN_GLPI: -1.5})


def test_when_redmine_is_away_the_report_says_so_and_counts_what_was_logged(
    bridge: Bridge, services: Services, stand_in: StandIn
) -> None:
    done(bridge, 601, 1.5)
    stand_in.fault("status_before", method="GET", path="/time_entries.json", status=503)
    report = hours_of(services, MONTH)
    assert not report.live
    assert "503" in (report.why_not_live or "")
    assert sums(of(report, "Alice Archer")) == (1.5, 1.5, {})
    assert of(report, "Alice Archer").other_hours is None


def test_another_month_has_none_of_it(bridge: Bridge, services: Services) -> None:
    done(bridge, 601, 1.5)
    assert hours_of(services, "2020-02").people == []
    assert [str(day) for day in month_of("2024-02")] == ["2024-02-01", "2024-02-29"]
    assert [str(day) for day in month_of("2026-12")] == ["2026-12-01", "2026-12-31"]


def test_page_csv_and_api_have_the_same_numbers(bridge: Bridge, console: Console, come_in: ComeIn) -> None:
    done(bridge, 601, 1.5)
    done(bridge, 602, 0.5, user=STRANGER)
    visitor = come_in(Right.VIEWER)
    page = visitor.open("/console/hours")
    assert "Alice Archer" in page
    assert "under another name: 0.5" in page
    assert "No hours are known for this month" in visitor.open("/console/hours?month=2020-02")
    assert visitor.open("/console/hours?month=nonsense") == page
    export = visitor.http.get(f"{visitor.base_url}/console/hours.csv", params={"month": MONTH}).text
    rows = {one["person"]: one for one in csv.DictReader(io.StringIO(export))}
    assert (rows["Alice Archer"]["glpi_hours"], rows["stranger@example.test"]["other_name"]) == ("1.5", "0.5")
    tasks = visitor.http.get(
        f"{visitor.base_url}/console/hours.csv", params={"month": MONTH, "tasks": "1"}
    ).text
    assert "602" in tasks
    found = console.get(f"/api/hours?month={MONTH}")
    assert {one["person"] for one in found["people"]} == set(rows)
    console.refused("GET", "/api/hours?month=2026-13", 422)


@pytest.mark.parametrize("month", ["0001-01", "9999-12", "2026-13", "2026-1", "2\u0660\u0662\u0666-11"])
def test_page_and_api_agree_on_what_is_a_month(console: Console, come_in: ComeIn, month: str) -> None:
    visitor = come_in(Right.VIEWER)
    assert visitor.open(address("/console/hours", month=month)) == visitor.open("/console/hours")
    console.refused("GET", address("/api/hours", month=month), 422)


def test_two_hundred_thousand_events_are_read_quickly(bridge: Bridge, services: Services) -> None:
    """A year of events; the index on their time of receipt finds those of a month."""
    done(bridge, 601, 1.5)
    many = text(
        """INSERT INTO journal (delivery_id, digest, event, key, ticket_id, task_id, occurred_at, clamped, sequence,
                                received_at, payload, state, code, attempts)
           WITH RECURSIVE numbers (n) AS (SELECT 10000 UNION ALL SELECT n + 1 FROM numbers WHERE n < 210000)
           SELECT 'd' || n, 'x', event, 'ticket-task:' || n, n, n, occurred_at, clamped, sequence,
                  '202' || (n % 5) || '-0' || (1 + n % 9) || '-02 00:00:00.000000', payload, 'skipped', 'no_link', 0
           FROM numbers, journal WHERE journal.id = 1"""
    )
    with bridge.store.database.transaction() as session:
        session.execute(many)
    began = time.monotonic()
    assert len(hours_of(services, MONTH).people) == 1
    assert time.monotonic() - began < 2
    began = time.monotonic()
    hours_of(services, "2022-03")
    assert time.monotonic() - began < 5
