"""If Redmine answers a status change with success but does not make it, the event fails and names the cause."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

import pytest

from shared.notices.doctor_work import WorkFinding
from shared.notices.faults import Detail
from shared.notices.reasons import Reason
from shared.notices.steps import What
from shared.store.tables.journal import EventState
from tests.failures.stage import Stage
from tests.support.events import task, task_event, ticket, ticket_event
from tests.unit.cli.conftest import Shell

NEW, IN_PROGRESS, RESOLVED, FEEDBACK = 1, 2, 3, 4
NO_ROLE = [[NEW, RESOLVED], [IN_PROGRESS, RESOLVED]]
SOLVED = ticket_event(700, of_ticket=ticket(status=5))


def api(stage: Stage, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
    """Call the tracker as its administrator."""
    address = urlsplit(stage.tracker.base_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
    headers = {"X-Redmine-API-Key": stage.tracker.api_key, "Content-Type": "application/json"}
    connection.request(method, address.path + path, json.dumps(body) if body else None, headers)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, json.loads(text) if text else None


def issue_id(stage: Stage) -> int:
    with stage.bridge.store.transaction() as tx:
        row = tx.issues.get(4711)
    assert row
    assert row.tracker_id
    return row.tracker_id


def status(stage: Stage) -> int:
    found: int = api(stage, "GET", f"/issues/{issue_id(stage)}.json")[1]["issue"]["status"]["id"]
    return found


def last_event(stage: Stage) -> Any:
    with stage.bridge.store.transaction() as tx:
        return tx.journal.find(ticket_id=4711, limit=1)[0]


def test_the_tracker_answers_204_and_keeps_the_status_as_deskbridge_must_find_out(stage: Stage) -> None:
    stage.tracker.settings(closed_moves=NO_ROLE)
    assert stage.work() == EventState.DONE
    path = f"/issues/{issue_id(stage)}.json"
    assert api(stage, "PUT", path, {"issue": {"status_id": RESOLVED}})[0] == 204
    issue = api(stage, "GET", path + "?include=allowed_statuses")[1]["issue"]
    assert issue["status"]["id"] == IN_PROGRESS
    allowed = {one["id"] for one in issue["allowed_statuses"]}
    assert RESOLVED not in allowed
    assert {IN_PROGRESS, FEEDBACK} <= allowed


def test_a_status_that_no_role_may_set_is_failed_and_named_and_given_after_the_fix(
    stage: Stage, shell: Shell
) -> None:
    assert stage.work() == EventState.DONE
    stage.tracker.settings(closed_moves=NO_ROLE)
    assert stage.bridge.forward(SOLVED) == [EventState.FAILED]
    assert status(stage) == IN_PROGRESS
    for told in (stage.events(), stage.trace(), stage.doctor()):
        assert Detail.STATUS_NOT_TAKEN in told.codes, told.text
        assert (
            "still has status 2 (In Progress), because no workflow allows the change to 3 (Resolved)"
            in told.text
        )
        assert "4 (Feedback)" in told.text
        assert (
            ". Allow it for a role (Administration, Workflow) or change status_map, then replay" in told.text
        )
    assert What.STATUS_GIVEN not in stage.events().codes
    assert last_event(stage).code == Reason.STATUS_REFUSED
    with stage.bridge.store.transaction() as tx:
        assert tx.statuses.due_tickets(10) == []

    assert stage.bridge.forward(ticket_event(701, of_ticket=ticket(status=5))) == [EventState.FAILED]
    stage.tracker.settings(closed_moves=[])
    replayed = shell.do("event", "replay", "--state", "failed", "--code", "status_not_taken")
    assert "2 events of 1 ticket will be processed again" in replayed
    stage.bridge.hurry()
    stage.bridge.sync()
    assert status(stage) == RESOLVED
    assert last_event(stage).code == Reason.STATUS_SET
    assert stage.goes_on(), stage.events().text
    assert WorkFinding.STATUSES_NOT_GIVEN not in stage.doctor().codes


def test_a_status_that_no_role_may_set_is_given_once_the_map_names_another(
    stage: Stage, shell: Shell
) -> None:
    assert stage.work() == EventState.DONE
    stage.tracker.settings(closed_moves=NO_ROLE)
    assert stage.bridge.forward(SOLVED) == [EventState.FAILED]
    shell.do("config", "set", f'status_map={{"2": {IN_PROGRESS}, "5": {FEEDBACK}}}', "--replay")
    stage.bridge.sync()
    assert status(stage) == FEEDBACK
    assert stage.goes_on(), stage.events().text


def test_a_status_that_is_due_without_an_event_is_named_too_and_given_after_the_fix(
    stage: Stage, shell: Shell
) -> None:
    stage.tracker.settings(closed_moves=[[NEW, IN_PROGRESS]])
    assert stage.work() == EventState.DONE, "its hours are logged all the same"
    assert status(stage) == NEW
    for told in (stage.trace(), stage.doctor()):
        assert Detail.STATUS_NOT_TAKEN in told.codes, told.text
        assert (
            ". Allow it for a role (Administration, Workflow) or change status_map, then replay" in told.text
        )
    event_id = last_event(stage).id
    assert f"deskbridge event replay {event_id}" in stage.doctor().text
    stage.tracker.settings(closed_moves=[])
    shell.do("event", "replay", str(event_id))
    stage.bridge.sync()
    assert status(stage) == IN_PROGRESS
    assert stage.doctor().codes.isdisjoint({WorkFinding.STATUSES_NOT_GIVEN, Detail.STATUS_NOT_TAKEN})


def test_a_status_that_is_read_only_for_every_role_says_so(stage: Stage) -> None:
    assert stage.work() == EventState.DONE
    for role_id in (1, 2, 3, 4, 5):
        stage.tracker.patch("roles", role_id, read_only=["status_id"])
    assert stage.bridge.forward(SOLVED) == [EventState.FAILED]
    told = stage.events()
    assert Detail.STATUS_TAKEN_BACK in told.codes, told.text
    assert (
        "Either the field is read-only (Administration, Workflow, Fields permissions), or Redmine changed it"
        in told.text
    )
    for role_id in (1, 2, 3, 4, 5):
        stage.tracker.patch("roles", role_id, read_only=[])
    stage.replay(Detail.STATUS_TAKEN_BACK)
    assert status(stage) == RESOLVED


def test_an_issue_with_an_open_subtask_says_that_it_comes_first(stage: Stage) -> None:
    """The workflow is not the cause, so a change of it would not help."""
    assert stage.work() == EventState.DONE
    parent = issue_id(stage)
    below = {"project_id": 1, "tracker_id": 1, "subject": "below", "parent_issue_id": parent}
    made = api(stage, "POST", "/issues.json", {"issue": below})[1]["issue"]["id"]
    assert stage.bridge.forward(ticket_event(700, of_ticket=ticket(status=6))) == [EventState.FAILED]
    told = stage.events()
    assert Detail.STATUS_HINDERED in told.codes, told.text
    assert f"open subtasks or blocking issues (#{made}) prevent the change" in told.text
    assert "Workflow" not in told.text
    assert api(stage, "PUT", f"/issues/{made}.json", {"issue": {"status_id": 5}})[0] == 204
    stage.replay(Detail.STATUS_HINDERED)
    assert status(stage) == 5


@pytest.mark.stand_in
def test_only_a_transition_that_was_not_seen_to_work_is_read_back(stage: Stage) -> None:
    """Each transition costs one more GET per hour and process; one that was not accepted is never trusted."""

    def reads() -> int:
        return sum(
            one["method"] == "GET" and "allowed_statuses" in (one.get("query") or one["path"])
            for one in stage.stand_in.requests()
        )

    def solve(ticket_id: int) -> str:
        event = ticket_event(1, of_ticket=ticket(ticket_id, status=5))
        return stage.bridge.forward(event, ticket_id=ticket_id)[0]

    for number in (4711, 4712, 4713):
        one = task_event(0, of_ticket=ticket(number), of_task=task(number))
        stage.bridge.forward(one, ticket_id=number)
    assert reads() == 1, "from new to in progress"
    assert solve(4711) == EventState.DONE
    assert reads() == 2, "from in progress to resolved"
    assert solve(4712) == EventState.DONE
    assert reads() == 2
