"""The steps of docs/how-to/failed-and-held.md: what they describe happens, and what they recommend helps."""

from __future__ import annotations

import csv
import io

import requests

from deploy.sandbox.tracker.control import StandIn
from producer.admin.backfill.backfill import export_links
from producer.admin.review.held import decide, rows_on_hold
from shared.notices.kinds import Kind
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket, ticket_event
from tests.support.ledger import entries, ours, row, until_settled


def delete(stand_in: StandIn, path: str) -> None:
    key = {"X-Redmine-API-Key": stand_in.api_key}
    assert requests.delete(f"{stand_in.base_url}{path}", headers=key, timeout=5).status_code == 204


def highest_ids(bridge: Bridge) -> dict[str, int]:
    out = io.StringIO()
    export_links(bridge.store, out)
    rows = list(csv.DictReader(io.StringIO(out.getvalue())))
    return {
        kind: max(int(one["id"]) for one in rows if one["kind"] == kind) for kind in ("ticket", "ticket-task")
    }


def test_a_helpdesk_restored_from_a_backup_goes_on_above_the_highest_ids(
    bridge: Bridge, stand_in: StandIn
) -> None:
    assert bridge.forward(task_event(0, of_ticket=ticket(1), of_task=task(1)), ticket_id=1) == ["done"]
    lost = task_event(1, of_ticket=ticket(2), of_task=task(2))
    assert bridge.forward(lost, ticket_id=2) == ["done"]
    again = task_event(
        2, of_ticket=ticket(2, title="Something else"), of_task=task(2, content="something else")
    )
    assert bridge.forward(again, ticket_id=2) == ["done"]
    assert len(entries(stand_in)) == 2, (
        "an id that is given again is taken for the lost one: its time is not logged"
    )
    assert highest_ids(bridge) == {"ticket": 2, "ticket-task": 2}
    kept = task_event(0, of_ticket=ticket(1), of_task=task(1))
    assert bridge.forward(kept, ticket_id=1) == ["done"]
    above = task_event(
        3, of_ticket=ticket(3, title="Something else"), of_task=task(3, content="something else")
    )
    assert bridge.forward(above, ticket_id=3) == ["done"]
    assert (len(ours(stand_in)), len(entries(stand_in))) == (3, 3)


def test_tasks_that_a_merge_of_tickets_copied_are_logged_where_they_are_and_what_is_deleted_stays_so(
    bridge: Bridge, stand_in: StandIn
) -> None:
    assert bridge.forward(task_event(of_ticket=ticket(1), of_task=task(1)), ticket_id=1) == ["done"]
    stays = task_event(of_ticket=ticket(2), of_task=task(2))
    assert bridge.forward(stays, ticket_id=2) == ["done"]
    copy = task_event(1, of_ticket=ticket(2), of_task=task(3, content="<p>Extinguished 1</p>"))
    assert bridge.forward(copy, ticket_id=2) == ["done"]
    assert len(entries(stand_in)) == 3, "the copy is a ticket task of its own"
    delete(stand_in, f"/issues/{row(bridge, Kind.TICKET, 1).tracker_id}.json")
    assert bridge.forward(task_event(2, of_ticket=ticket(2), of_task=task(3)), ticket_id=2) == ["done"]
    bridge.sync(1)
    assert (len(ours(stand_in)), len(entries(stand_in))) == (1, 2)


def test_an_issue_deleted_on_purpose_holds_what_needs_it_and_nothing_else(
    bridge: Bridge, stand_in: StandIn
) -> None:
    assert bridge.forward(task_event()) == ["done"]
    delete(stand_in, "/issues/6.json")
    assert bridge.forward(ticket_event(1, of_ticket=ticket(status=5))) == ["on_hold"]
    assert bridge.forward(task_event(2, of_task=task(513))) == ["on_hold"]
    assert bridge.forward(task_event(of_ticket=ticket(2), of_task=task(2)), ticket_id=2) == ["done"]
    assert [(kind, one.key) for kind, one in rows_on_hold(bridge.store)] == [(Kind.TICKET, 4711)]
    until_settled(bridge)
    assert len(ours(stand_in)) == 1, "left alone, it stays deleted"


def test_time_of_an_issue_deleted_on_purpose_goes_to_the_one_that_is_adopted(
    bridge: Bridge, stand_in: StandIn
) -> None:
    assert bridge.forward(task_event()) == ["done"]
    delete(stand_in, "/issues/6.json")
    assert bridge.forward(task_event(1, of_task=task(513))) == ["on_hold"]
    decide(bridge.store, Kind.TICKET, 4711, 1)
    until_settled(bridge)
    assert [one["issue_id"] for one in entries(stand_in)] == [1]
    assert [(kind, one.key) for kind, one in rows_on_hold(bridge.store)] == [(Kind.TICKET_TASK, 512)]
    decide(bridge.store, Kind.TICKET_TASK, 512, None)
    until_settled(bridge)
    assert [one["issue_id"] for one in entries(stand_in)] == [1, 1]
