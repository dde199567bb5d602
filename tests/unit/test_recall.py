"""A lookup after a restore distinguishes its own object, objects that are alike, and others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.notices.kinds import Kind
from worker.ticket.match import Doubt
from worker.ticket.recall import recall

pytestmark = pytest.mark.promise("OPS-05")

BACKUP = datetime(2026, 11, 20, 3, tzinfo=UTC)
ALICE, BOB, ADMIN = 5, 6, 1
WHO = Doubt(4711, (ADMIN, ALICE), BACKUP)
ISSUE = {"issue": {"project_id": 1, "subject": "Printer", "description": "burns"}}
TIME = {"time_entry": {"issue_id": 9, "hours": 1.5, "comments": "Extinguished"}}


def issue(**changes: Any) -> dict[str, Any]:
    made = BACKUP + timedelta(hours=1)
    return {
        "id": 60,
        "project": {"id": 1},
        "subject": "Printer",
        "description": "burns",
        "author": {"id": ALICE},
        "created_on": made.isoformat(),
        **changes,
    }


def entry(**changes: Any) -> dict[str, Any]:
    made = BACKUP + timedelta(hours=1)
    return {
        "id": 70,
        "issue": {"id": 9},
        "hours": 1.5,
        "comments": "Extinguished",
        "user": {"id": ALICE},
        "created_on": made.isoformat(),
        **changes,
    }


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (issue(), "own"),
        (issue(author={"id": ADMIN}), "own"),
        (issue(author={"id": BOB}), "alike"),
        (issue(description="edited"), "alike"),
        (issue(subject="edited"), "alike"),
        (issue(subject="edited", author={"id": BOB}), "alike"),
        (issue(subject="another", description="one"), "other"),
        (issue(project={"id": 2}), "other"),
        (issue(created_on="2026-11-19T03:00:00Z"), "other"),
    ],
)
def test_of_an_issue(found: dict[str, Any], verdict: str) -> None:
    assert told(Kind.TICKET, found, ISSUE) == verdict


def test_two_empty_descriptions_make_no_issues_alike() -> None:
    body = {"issue": {"project_id": 1, "subject": "Scanner"}}
    assert told(Kind.TICKET, issue(description=None), body) == "other"


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (entry(), "own"),
        (entry(user={"id": BOB}), "alike"),
        (entry(hours=2.0), "alike"),
        (entry(comments="edited"), "alike"),
        (entry(comments="edited", user={"id": BOB}), "other"),
        (entry(hours=2.0, user={"id": BOB}), "other"),
        (entry(hours=2.0, comments="edited"), "other"),
        (entry(issue={"id": 8}), "other"),
    ],
)
def test_of_a_time_entry(found: dict[str, Any], verdict: str) -> None:
    assert told(Kind.TICKET_TASK, found, TIME) == verdict


def test_an_earlier_snapshot_is_as_good_and_the_newest_comes_first() -> None:
    edited = {"issue": {**ISSUE["issue"], "subject": "Edited"}}
    both = [issue(id=60), issue(id=61, subject="Edited")]
    found = recall(Kind.TICKET, both, [edited, ISSUE], WHO, held=())
    assert found.own is not None
    assert found.own.tracker_id == 61
    earlier = recall(Kind.TICKET, both[:1], [edited, ISSUE], WHO, held=())
    assert earlier.own is not None


def test_what_another_row_holds_is_neither() -> None:
    found = recall(Kind.TICKET, [issue()], [ISSUE], WHO, held={60})
    assert (found.own, found.alike) == (None, [])


def told(kind: Kind, found: dict[str, Any], body: dict[str, Any]) -> str:
    verdict = recall(kind, [found], [body], WHO, held=())
    return "own" if verdict.own else "alike" if verdict.alike else "other"
