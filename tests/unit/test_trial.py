"""Trial mode reports the requests that it would send."""

from __future__ import annotations

from typing import Any

import pytest

from shared.events.snapshots import TicketTask
from shared.notices.notice import Notice
from shared.notices.reasons import Reason
from shared.notices.render import sentence
from shared.notices.trial import Would
from shared.store.configuration.matching import TrackerPerson
from worker.ticket.results import Created
from worker.ticket.trial import NOT_CREATED, time_entry

ALICE = TrackerPerson(5, "alice", "Alice Archer", "alice@example.test")
TASK = TicketTask(id=512, state=2, actiontime=5400)
THERE, NEW = Created(7, 1), Created(NOT_CREATED, 1)


def said(would: Notice, also: Notice | None = None) -> str:
    return sentence(Reason.TRIAL_MODE(would=would, also=also))


def logged(issue: Created = THERE, person: TrackerPerson | None = ALICE, **sent: Any) -> str:
    return said(time_entry({"time_entry": sent}, TASK, issue, person))


def test_an_issue_is_planned_in_its_project_and_name() -> None:
    would = Would.CREATE_ISSUE(project="Support", author="alice")
    assert said(would) == "Trial mode: would create an issue in project Support as alice"


def test_what_no_person_can_send_is_planned_as_the_api_user() -> None:
    would = Would.CREATE_ISSUE(project="Support", author=Would.AS_API_USER())
    assert said(would) == "Trial mode: would create an issue in project Support as the API user"
    assert logged(person=None, hours=1.5) == "Trial mode: would log 1.5 h in issue #7 as the API user"


def test_time_is_planned_with_its_day_if_the_request_has_one() -> None:
    assert (
        logged(hours=1.5, spent_on="2026-11-27")
        == "Trial mode: would log 1.5 h on 2026-11-27 in issue #7 as alice"
    )
    assert logged(hours=1.5) == "Trial mode: would log 1.5 h in issue #7 as alice"


@pytest.mark.parametrize(
    ("sent", "shown"),
    [({"hours": 2}, "2"), ({"hours": 0.25}, "0.25"), ({"hours": "1:30"}, "1.5"), ({}, "1.5")],
)
def test_the_hours_are_those_of_the_request_or_else_of_the_task(sent: dict[str, Any], shown: str) -> None:
    assert logged(**sent) == f"Trial mode: would log {shown} h in issue #7 as alice"


def test_the_first_time_entry_of_a_ticket_is_planned_with_its_issue() -> None:
    issue = Would.CREATE_ISSUE(project="Support", author="alice")
    time = time_entry({"time_entry": {"hours": 1.5}}, TASK, NEW, ALICE)
    expected = "Trial mode: would create an issue in project Support as alice and log 1.5 h in the new issue as alice"
    assert said(issue, time) == expected


def test_a_status_is_planned_by_its_name() -> None:
    would = Would.SET_STATUS(issue_id=7, status="Resolved")
    assert said(would) == "Trial mode: would set the status of issue #7 to Resolved"
