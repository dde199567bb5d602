"""Templates that try to break guarantees fail: one effect per creation, the right person, and no lost hours."""

from __future__ import annotations

import json
from typing import Any

import pytest

from deploy.sandbox.tracker.control import StandIn
from producer.admin.templates.templates import TemplateStore
from tests.integration.test_templates import activate, ours
from tests.support.bridge import Bridge
from tests.support.events import task, task_event, ticket

BOB_ID = 6
LOST = {"issue.create": "/issues.json", "time_entry.create": "/time_entries.json"}


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("issue.create", {"subject": " \tlead ", "description": "a  \r\nb\t \r\r\n<b>x</b>\n\n "}),
        ("issue.create", {"subject": "a\u0000b\u001f", "description": "\u0085x\u2028\ufeff"}),
        ("issue.create", {"subject": 12, "description": 1.5, "project_id": " 2 ", "is_private": True}),
        ("issue.create", {"subject": "a", "parent_issue_id": 1, "author_id": BOB_ID}),
        ("issue.create", {"subject": "a", "custom_field_values": [7]}),
        ("time_entry.create", {"hours": 0.123456789012, "comments": "  "}),
        ("time_entry.create", {"hours": "2.675", "comments": "a  \r\n b\t"}),
        ("time_entry.create", {"spent_on": "2019-12-31", "issue_id": "{{issue.id | string}}"}),
        ("time_entry.create", {"user_id": BOB_ID}),
    ],
)
def test_whatever_is_sent_has_one_effect_for_the_right_person_also_when_its_answer_is_lost(
    bridge: Bridge, stand_in: StandIn, operation: str, members: dict[str, Any], lost: bool
) -> None:
    activate(bridge, operation, **members)
    if lost:
        stand_in.fault("reset_after", method="POST", path=LOST[operation])
    (event_id,) = bridge.receive(task_event())
    for _ in range(3):
        bridge.sync()
        bridge.hurry()
    assert bridge.event(event_id).state == "done", bridge.steps()
    assert [one["author"] for one in ours(stand_in)] == ["alice"]
    assert [one["user"] for one in stand_in.state()["time_entries"]] == ["alice"]


def test_what_stands_beside_the_top_key_reaches_no_tracker(bridge: Bridge, stand_in: StandIn) -> None:
    body = {"issue": {"subject": "a"}, "key": "another's", "time_entry": {"hours": 5}}
    store = TemplateStore(bridge.store)
    store.activate(store.create("issue.create", "an attack", json.dumps(body), "a test").id, "a test")
    bridge.forward(task_event())
    (sent,) = [one["body"] for one in stand_in.requests() if one["path"] == "/issues.json"]
    assert sent == {"issue": {"subject": "a", "project_id": 1}}
    assert any("key is outside issue, so it is not sent" in step for step in bridge.steps())


def test_a_role_that_the_tracker_does_not_take_leaves_the_right_person(
    bridge: Bridge, stand_in: StandIn
) -> None:
    bridge.configure(template_role_ids=[99])
    activate(bridge, "membership.create", role_ids=[99])
    carol = {"id": 9, "email": "carol@example.test"}
    bridge.forward(task_event(of_ticket=ticket(technician=carol), of_task=task(user=carol)))
    assert [one["author"] for one in ours(stand_in)] == ["carol"]
    assert [one["user"] for one in stand_in.state()["time_entries"]] == ["carol"]
