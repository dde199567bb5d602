"""Every page of the console, and data for each of them to show."""

from __future__ import annotations

from typing import Any

from deploy.sandbox.tracker.control import StandIn
from shared.notices.reasons import Reason
from tests.support.bridge import Bridge
from tests.support.events import task, task_event

PAGES = (
    "",
    "/events",
    "/events?state=failed",
    "/events?ticket=99",
    "/tickets/4711",
    "/tickets/4712",
    "/tickets/99",
    "/held",
    "/held/ticket/4713",
    "/links",
    "/links?kind=project",
    "/links/entity/3",
    "/people",
    "/authors",
    "/templates",
    "/templates/new?operation=issue.create",
    "/settings",
    "/settings/defaults",
    "/settings/status-map",
    "/settings/behaviour",
    "/settings/notifications",
    "/doctor",
    "/knowledge/KB-TRACKER-002",
    "/hours",
    "/changes",
    "/changes/1",
    "/access",
    "/account",
    "/nowhere",
)


def filled(bridge: Bridge, stand_in: StandIn) -> None:
    """Create a synced ticket that also has a stranger's hours, a failed ticket, and one on hold."""
    stand_in.settings(required_custom_fields=[2])
    bridge.forward(task_event())
    for number in (4712, 4713):
        bridge.configure(default_activity_id=77 if number == 4712 else 9)
        one = task_event()
        one["ticket"]["id"], one["task"]["id"] = number, number * 10
        bridge.forward(one, ticket_id=number)
    bridge.forward(task_event(1, of_task=task(513, user={"id": 99, "email": "stranger@example.test"})))
    with bridge.store.transaction() as tx:
        row = tx.issues.get(4713)
        assert row is not None
        tx.issues.gone(4713, row.tracker_id or 0, Reason.ISSUE_GONE(issue_id=row.tracker_id))


def serious(found: Any) -> list[Any]:
    """Return the violations found by axe that make a page unusable for someone."""
    return [
        (one["id"], [node["html"][:160] for node in one["nodes"]][:3])
        for one in found.response["violations"]
        if one["impact"] in ("serious", "critical")
    ]
