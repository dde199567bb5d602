"""The events that GLPI's webhooks result in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from producer.helpdesks.glpi.events import Item, read
from shared.errors import InvalidEvent
from shared.notices.invalid import Invalid
from tests.helpdesks.recorded_requests import Recorded, recorded

ITEM = json.loads(recorded("task-new").body)["item"]
OF_THE_TICKET = ["ticket.project_id", "ticket.requester", "ticket.technician"]
"""What GLPI leaves out of the ticket of each task and note."""
ITEMS = {
    "task-new": Item.TICKET_TASK,
    "task-update-done": Item.TICKET_TASK,
    "ticket-new": Item.TICKET,
    "ticket-update-solved": Item.TICKET,
    "followup-new": Item.FOLLOWUP,
    "followup-private": Item.FOLLOWUP,
    "solution-new": Item.SOLUTION,
}


def event_of(name: str, one: Recorded | None = None) -> dict[str, Any]:
    delivery = read(ITEMS[name], (one or recorded(name)).body, "id")
    assert delivery is not None
    payload: dict[str, Any] = json.loads(delivery.payload)
    return payload


def test_a_done_task_is_an_updated_ticket_task_with_its_time() -> None:
    event = event_of("task-update-done")
    assert event["event"] == "ticket_task.updated"
    assert event["occurred_at"] == "2026-11-21T12:46:39+00:00"
    assert event["task"] == {
        "id": 1,
        "content": "<p>Replaced the fuser.</p>",
        "state": 2,
        "actiontime": 1800,
        "user": {"id": 2, "email": None, "name": "glpi"},
        "technician": {"id": 7, "email": None, "name": "tech.anna"},
        "date": "2026-11-21",
        "is_private": False,
        "copied_from_ticket": None,
        "created_at": "2026-11-21T12:46:39+00:00",
    }
    assert event["ticket"] == {
        "id": 1,
        "title": 'Printer "Q" is dead — 50% <b>',
        "content": "<p>It prints nothing &amp; smokes.</p>",
        "status": 2,
        "entity_id": 1,
        "entity_name": "Root entity > Client Alpha",
        "is_deleted": False,
        "urgency": 3,
        "impact": 3,
        "priority": 3,
        "type": 1,
        "external_id": None,
        "category": None,
        "location": None,
        "created_at": "2026-11-21T12:46:36+00:00",
    }


def test_the_day_of_a_planned_task_is_its_planned_day() -> None:
    planned = recorded("task-update-done").changed(planned_begin="2026-11-19T23:30:00+01:00")
    assert event_of("task-update-done", planned)["task"]["date"] == "2026-11-19"


def test_a_ticket_in_the_bin_and_a_task_that_is_gone_are_deletions_of_which_only_ids_are_kept() -> None:
    ticket = event_of("ticket-new", recorded("ticket-new").changed(event="delete", is_deleted=True))
    assert (ticket["event"], ticket["ticket"]) == ("ticket.deleted", {"id": 1})
    task = event_of("task-new", recorded("task-new").changed(event="delete"))
    assert (task["event"], task["ticket"], task["task"]) == ("ticket_task.deleted", {"id": 1}, {"id": 1})


def test_within_one_second_a_deletion_comes_last() -> None:
    update, delete = (recorded("ticket-new").changed(event=one) for one in ("update", "delete"))
    assert event_of("ticket-new", update)["sequence"] < event_of("ticket-new", delete)["sequence"]


def test_an_event_says_whether_its_ticket_is_in_the_bin() -> None:
    assert event_of("ticket-new")["ticket"]["is_deleted"] is False
    binned = recorded("ticket-new").changed(is_deleted=True)
    assert event_of("ticket-new", binned)["ticket"]["is_deleted"] is True


def test_what_glpi_names_is_named() -> None:
    named: dict[str, Any] = {
        "category": {"id": 12, "name": "Printers"},
        "location": {"id": 2, "name": "2nd floor"},
    }
    team = [{"role": "requester", "id": 9, "name": "bert", "display_name": "Bert Brown"}]
    ticket = event_of("ticket-new", recorded("ticket-new").changed(**named, team=team))["ticket"]
    assert {name: ticket[name] for name in named} == named
    assert ticket["requester"] == {"id": 9, "email": None, "name": "Bert Brown"}


def test_who_and_what_has_no_number_is_left_out() -> None:
    """For example, the sender of a mail who has no account."""
    nobody: dict[str, Any] = {
        "category": {"id": 0},
        "team": [{"role": "requester", "id": 0}, {"role": "requester", "id": 9}],
    }
    ticket = event_of("ticket-new", recorded("ticket-new").changed(**nobody))["ticket"]
    assert (ticket["category"], ticket["requester"]["id"]) == (None, 9)


def test_a_private_task_is_called_private() -> None:
    assert event_of("task-new", recorded("task-new").changed(is_private=True))["task"]["is_private"] is True


def test_a_task_that_glpi_copied_names_the_ticket_that_it_comes_from() -> None:
    task = event_of("task-new", recorded("task-new").changed(source_item_id=40))["task"]
    assert (task["copied_from_ticket"], task.get("copy_of")) == (40, None)


def test_a_task_of_which_a_ticket_was_made_is_no_copy() -> None:
    assert (
        event_of("task-new", recorded("task-new").changed(source_of_item_id=40))["task"]["copied_from_ticket"]
        is None
    )


def test_a_new_follow_up_is_an_added_follow_up_of_its_ticket() -> None:
    event = event_of("followup-new")
    assert event["event"] == "followup.added"
    assert event["occurred_at"] == "2026-11-27T11:38:38+00:00"
    assert event["followup"] == {
        "id": 1,
        "content": "<p>The toner is <strong>ordered</strong>.</p>",
        "user": {"id": 2, "email": None, "name": "glpi"},
        "date": "2026-11-27T11:38:38+00:00",
        "is_private": False,
        "created_at": "2026-11-27T11:38:38+00:00",
    }
    assert (event["ticket"]["id"], event["ticket"]["status"]) == (1, 2)


def test_a_new_solution_is_an_added_solution_which_is_never_private() -> None:
    event = event_of("solution-new")
    assert event["event"] == "solution.added"
    assert event["solution"] == {
        "id": 1,
        "content": "<p>Replaced the fuser.</p>",
        "user": {"id": 2, "email": None, "name": "glpi"},
        "date": "2026-11-27T11:38:42+00:00",
        "is_private": None,
        "created_at": "2026-11-27T11:38:42+00:00",
    }
    assert event["ticket"]["status"] == 5


def test_a_private_follow_up_is_called_private() -> None:
    assert event_of("followup-private")["followup"]["is_private"] is True


def test_a_follow_up_of_a_stranger_s_mail_names_nobody() -> None:
    for nobody in (None, {"id": 0}):
        event = event_of("followup-new", recorded("followup-new").changed(user=nobody))
        assert event["followup"]["user"] is None
        assert event["incomplete"] == OF_THE_TICKET


def test_a_solution_without_its_dates_happened_when_its_ticket_changed() -> None:
    """An early version of GLPI's API does not send them."""
    bare = recorded("solution-new").changed(date_mod=None, date_creation=None)
    event = event_of("solution-new", bare)
    assert (event["occurred_at"], event["solution"]["date"]) == ("2026-11-27T11:38:42+00:00", None)


@pytest.mark.parametrize("name", ["followup-new", "followup-private", "solution-new"])
def test_a_note_that_was_changed_comes_whole_and_after_the_new_note_of_its_second(name: str) -> None:
    new, changed = event_of(name), event_of(name, recorded(name).changed(event="update"))
    part = name.partition("-")[0]
    assert (new["event"], changed["event"]) == (f"{part}.added", f"{part}.updated")
    assert (changed[part], changed["ticket"]) == (new[part], new["ticket"])
    assert new["sequence"] < changed["sequence"]


@pytest.mark.parametrize("name", ["followup-new", "solution-new"])
def test_a_note_that_was_deleted_is_a_deletion(name: str) -> None:
    new, deleted = event_of(name), event_of(name, recorded(name).changed(event="delete"))
    part = name.partition("-")[0]
    assert (deleted["event"], deleted[part]) == (f"{part}.deleted", {"id": new[part]["id"]})
    assert (deleted["ticket"], deleted["sequence"]) == ({"id": new["ticket"]["id"]}, 2)


@pytest.mark.parametrize("name", ["followup-new", "solution-new"])
@pytest.mark.parametrize("itemtype", ["Change", "Problem"])
def test_a_note_of_a_change_or_a_problem_asks_for_nothing(name: str, itemtype: str) -> None:
    assert read(ITEMS[name], recorded(name).changed(itemtype=itemtype).body, "id") is None
    assert read(Item.FOLLOWUP, recorded("followup-of-change").body, "id") is None


def test_a_new_task_is_an_added_ticket_task() -> None:
    assert event_of("task-new")["event"] == "ticket_task.added"


def test_a_ticket_s_technician_is_who_it_is_assigned_to() -> None:
    event = event_of("ticket-update-solved")
    assert event["event"] == "ticket.updated"
    assert event["ticket"]["technician"] == {"id": 7, "email": None, "name": "Tech Anna"}
    assert event["ticket"]["status"] == 5


def test_an_event_says_what_glpi_does_not_send() -> None:
    of_task = [*OF_THE_TICKET, "task.user.email"]
    assert event_of("task-new")["incomplete"] == [*of_task, "task.technician.email"]
    assert event_of("task-new", recorded("task-new").changed(user_tech=None))["incomplete"] == of_task
    assert event_of("ticket-new")["incomplete"] == ["ticket.project_id", "ticket.technician.email"]
    for name, user in (("followup-new", "followup.user.email"), ("solution-new", "solution.user.email")):
        assert event_of(name)["incomplete"] == [*OF_THE_TICKET, user]
    unassigned = recorded("ticket-new").changed(team=[])
    assert event_of("ticket-new", unassigned)["incomplete"] == ["ticket.project_id"]


@pytest.mark.parametrize("name", ITEMS)
def test_what_glpi_sends_is_html(name: str) -> None:
    assert event_of(name)["content_format"] == "html"


def test_within_one_second_new_comes_before_update_whichever_is_sent_first() -> None:
    update = recorded("ticket-new").changed(event="update")
    assert event_of("ticket-new")["sequence"] < event_of("ticket-new", update)["sequence"]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"duration": None}, "item.duration"),
        ({"state": "done"}, "item.state"),
        ({"date_mod": "yesterday"}, "item.date_mod"),
        ({"id": None}, "item.id"),
    ],
)
def test_each_field_that_cannot_be_read_is_named(changes: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidEvent) as refused:
        event_of("task-new", recorded("task-new").changed(**changes))
    assert [fault[0] for fault in refused.value.faults] == [path]


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"[]", b"null", b"{" * 100_000, b'{"text": "a ticket"}'])
def test_a_body_of_another_shape_is_refused_by_name(body: bytes) -> None:
    with pytest.raises(InvalidEvent):
        read(Item.TICKET, body, "id")


def test_a_task_without_its_ticket_is_refused() -> None:
    with pytest.raises(InvalidEvent) as refused:
        read(Item.TICKET_TASK, json.dumps({"event": "new", "item": ITEM}).encode(), "id")
    assert ("parent_item", Invalid.FIELD_REQUIRED()) in refused.value.faults


@pytest.mark.parametrize("name", ITEMS)
@pytest.mark.parametrize("other", Item)
def test_a_delivery_that_came_to_another_address_is_the_same_event(name: str, other: Item) -> None:
    body = recorded(name).body
    assert read(other, body, "id") == read(ITEMS[name], body, "id")


@pytest.mark.parametrize("other", Item)
def test_what_asks_for_nothing_does_so_at_every_address(other: Item) -> None:
    assert read(other, recorded("followup-of-change").body, "id") is None
    assert (
        read(other, recorded("solution-new").changed(event="update", itemtype="Problem").body, "id") is None
    )
