"""The number of a ticket's issue may belong to another issue: Redmine was restored, or gave it to a new issue."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from deploy.sandbox.tracker.control import StandIn
from producer.admin.review.held import resolve
from producer.admin.services import Services
from shared.notices.kinds import Kind
from shared.notices.reasons import Reason
from shared.store.tables.ledger import LedgerState
from tests.support.bridge import Bridge
from tests.support.events import followup_event, solution_event, task, task_event, ticket, ticket_event
from tests.support.ledger import change, entries, ours, row, until_settled
from worker.ticket import gone
from worker.ticket.impersonation import Sender

pytestmark = pytest.mark.promise("OPS-31")
ISSUE, CLOSED = 6, 6
ALICE, CAROL = 5, 7


def delete(stand_in: StandIn, path: str) -> None:
    headers = {"X-Redmine-API-Key": stand_in.api_key}
    answer = requests.delete(f"{stand_in.base_url}{path}", headers=headers, timeout=5)
    assert answer.status_code == 204


def give_number_away(stand_in: StandIn) -> None:
    """Delete the ticket's issue, and let a person create another one, which gets its number."""
    stand_in.settings(reuse_deleted_ids=True, clock_offset=120.0)
    delete(stand_in, f"/issues/{ISSUE}.json")
    headers = {"X-Redmine-API-Key": stand_in.api_key}
    body = {"issue": {"project_id": 1, "subject": "Payroll of the board"}}
    address = f"{stand_in.base_url}/issues.json"
    made = requests.post(address, json=body, headers=headers, timeout=5).json()["issue"]
    assert made["id"] == ISSUE
    stand_in.settings(reuse_deleted_ids=False)


def calls(stand_in: StandIn, method: str | None = None) -> list[str]:
    """Return the calls with this method, or those that may have changed something."""
    made = [(str(one["method"]), str(one["path"])) for one in stand_in.requests()]
    return [path for used, path in made if (used == method if method else used != "GET")]


NEXT_EVENTS: dict[str, dict[str, Any]] = {
    "time entry": task_event(1, of_task=task(513)),
    "note": followup_event(1),
    "solution": solution_event(1),
    "status": ticket_event(1, of_ticket=ticket(status=CLOSED)),
}


@pytest.mark.parametrize("what", NEXT_EVENTS)
def test_nothing_is_written_to_another_issue_with_the_number(
    bridge: Bridge, stand_in: StandIn, what: str
) -> None:
    bridge.configure(sync_followups="all", sync_solutions="on")
    assert bridge.forward(task_event()) == ["done"]
    give_number_away(stand_in)
    before = len(calls(stand_in))
    assert bridge.forward(NEXT_EVENTS[what]) == ["on_hold"]
    until_settled(bridge)
    assert calls(stand_in)[before:] == []
    held = row(bridge, Kind.TICKET, 4711)
    assert held.state == LedgerState.GONE
    assert held.notice is not None
    assert held.notice.code == Reason.ISSUE_NUMBER_REUSED


def test_an_issue_that_was_read_long_before_is_read_again_right_before_the_request(
    bridge: Bridge, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bridge.forward(task_event()) == ["done"]
    prepare = Sender.prepare

    async def prepare_long(self: Sender) -> None:
        await prepare(self)
        give_number_away(stand_in)

    monkeypatch.setattr(Sender, "prepare", prepare_long)
    monkeypatch.setattr(gone, "RECOGNISED_S", 0.0)
    assert bridge.forward(task_event(1, of_task=task(513))) == ["on_hold"]
    assert entries(stand_in) == []


@pytest.fixture
def reused(bridge: Bridge, stand_in: StandIn) -> Bridge:
    """A bridge with a ticket whose issue's number belongs to another issue, as an event has shown."""
    assert bridge.forward(task_event()) == ["done"]
    give_number_away(stand_in)
    assert bridge.forward(task_event(1, of_task=task(513))) == ["on_hold"]
    return bridge


def test_a_person_may_have_the_issue_created_again(reused: Bridge, stand_in: StandIn) -> None:
    resolve(Services(reused.settings, reused.store), Kind.TICKET, 4711, None)
    until_settled(reused)
    assert row(reused, Kind.TICKET, 4711).tracker_id == ISSUE + 1
    assert [one["issue_id"] for one in entries(stand_in)] == [ISSUE + 1, ISSUE + 1]
    assert ours(stand_in)[0]["subject"] == "Payroll of the board"


def test_a_person_may_adopt_the_issue_that_has_the_number(reused: Bridge, stand_in: StandIn) -> None:
    resolve(Services(reused.settings, reused.store), Kind.TICKET, 4711, ISSUE)
    until_settled(reused)
    assert [one["issue_id"] for one in entries(stand_in)] == [ISSUE]
    assert reused.forward(task_event(2, of_task=task(514))) == ["done"]


def test_the_history_says_what_is_there_now(reused: Bridge) -> None:
    told = [
        one
        for one in reused.steps()
        if one.startswith(f"Nothing was sent: issue #{ISSUE} is now another issue")
    ]
    assert len(told) == 1
    assert "by Redmine Admin" in told[0]


def test_an_existing_issue_is_read_once_in_a_pass_and_a_new_one_never(
    bridge: Bridge, stand_in: StandIn
) -> None:
    assert bridge.forward(task_event(), ticket_event(1)) == ["done", "done"]
    before = calls(stand_in, "GET").count(f"/issues/{ISSUE}.json")
    assert bridge.forward(*(task_event(at, of_task=task(512 + at)) for at in (2, 3, 4))) == ["done"] * 3
    assert calls(stand_in, "GET").count(f"/issues/{ISSUE}.json") == before + 1


@pytest.mark.parametrize("kind", [Kind.TICKET, Kind.TICKET_TASK, Kind.FOLLOWUP])
def test_what_was_created_is_known_by_its_time_and_its_author(
    bridge: Bridge, stand_in: StandIn, kind: Kind
) -> None:
    bridge.configure(sync_followups="all")
    bridge.forward(task_event(), followup_event(1))
    bridge.sync()
    linked = row(bridge, kind, {Kind.TICKET: 4711, Kind.TICKET_TASK: 512, Kind.FOLLOWUP: 77}[kind])
    assert (linked.state, linked.author_id) == (LedgerState.LINKED, ALICE)
    assert linked.created_on is not None


def test_an_issue_that_was_found_after_a_lost_answer_is_known_too(bridge: Bridge, stand_in: StandIn) -> None:
    stand_in.fault("close_after", method="POST", path="/issues.json", count=1)
    bridge.forward(task_event())
    until_settled(bridge)
    assert row(bridge, Kind.TICKET, 4711).adopted
    assert row(bridge, Kind.TICKET, 4711).created_on is not None


def test_an_issue_of_an_earlier_version_is_learned_once(bridge: Bridge, stand_in: StandIn) -> None:
    assert bridge.forward(task_event()) == ["done"]
    change(bridge, Kind.TICKET, 4711, created_on=None, author_id=None)
    assert bridge.forward(task_event(1, of_task=task(513))) == ["done"]
    assert row(bridge, Kind.TICKET, 4711).author_id == ALICE
    give_number_away(stand_in)
    assert bridge.forward(task_event(2, of_task=task(514))) == ["on_hold"]


@pytest.mark.parametrize("is_deleted", [True, False])
def test_another_author_is_another_issue_unless_the_user_was_deleted(
    bridge: Bridge, stand_in: StandIn, is_deleted: bool
) -> None:
    """Redmine names another author of the issues of a deleted user; the doctor needs the one that was lost."""
    assert bridge.forward(task_event()) == ["done"]
    if is_deleted:
        stand_in.remove("users", ALICE)
    else:
        stand_in.patch("issues", ISSUE, author_id=CAROL)
    assert bridge.forward(ticket_event(1, of_ticket=ticket(status=CLOSED))) == [
        "done" if is_deleted else "on_hold"
    ]
    assert row(bridge, Kind.TICKET, 4711).author_id == ALICE


@pytest.mark.parametrize("event", NEXT_EVENTS)
def test_nothing_is_sent_while_the_issue_cannot_be_read(
    bridge: Bridge, stand_in: StandIn, event: str
) -> None:
    bridge.configure(sync_followups="all", sync_solutions="on")
    assert bridge.forward(task_event()) == ["done"]
    unreadable = stand_in.fault("status_before", method="GET", path=f"/issues/{ISSUE}.json", status=500)
    before = calls(stand_in)
    assert bridge.forward(NEXT_EVENTS[event]) == ["pending"]
    assert calls(stand_in) == before
    stand_in.clear_faults(unreadable)
    until_settled(bridge)
    assert len(calls(stand_in)) == len(before) + 1


def test_a_field_that_was_not_taken_is_not_given_to_another_issue(bridge: Bridge, stand_in: StandIn) -> None:
    bridge.configure(default_priority_id=3)
    assert bridge.forward(task_event()) == ["done"]
    give_number_away(stand_in)
    with bridge.store.transaction() as tx:
        tx.statuses.owe_fields(4711, ["priority_id"])
    before = calls(stand_in)
    bridge.sync()
    assert calls(stand_in) == before
    assert row(bridge, Kind.TICKET, 4711).state == LedgerState.GONE
