"""The input of both sides: signed requests, and events of distinct tickets with one Done ticket task each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any

from standardwebhooks import Webhook

from tests.support.events import ALICE, BOB, task, task_event, ticket

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
CONTENT = "<p>The printer in <b>room 12</b> takes no paper.</p><ul><li>tray 1</li><li>tray 2</li></ul>"

MOST_EVENTS = 100_000

_webhook = Webhook(SECRET)
_batches = count(1)
_requests = count(1)


@dataclass(frozen=True)
class Delivery:
    """A signed request.

    Attributes:
        body: its body.
        headers: its headers, the signature included.
        events: number of events in it.
    """

    body: bytes
    headers: dict[str, str]
    events: int


@dataclass(frozen=True)
class Batch:
    """Events of distinct tickets; each must result in one issue with one time entry.

    Attributes:
        name: part of every subject, to find the issues on the tracker.
        events: events as the help desk creates them.
    """

    name: str
    events: list[dict[str, Any]]

    def deliveries(self, per_request: int) -> list[Delivery]:
        """Return the events as signed requests: single events, or arrays of `per_request`."""
        if per_request == 1:
            return [signed(event, 1) for event in self.events]
        starts = range(0, len(self.events), per_request)
        arrays = [self.events[start : start + per_request] for start in starts]
        return [signed(array, len(array)) for array in arrays]

    def differences(self, state: dict[str, list[dict[str, Any]]]) -> list[str]:
        """Compare with the mock Redmine's objects; an empty list means each exists once, by the right person."""
        marker = f"[{self.name}]"
        issues = [issue for issue in state["issues"] if issue["subject"].startswith(marker)]
        ours = {issue["id"]: issue for issue in issues}
        entries = [entry for entry in state["time_entries"] if entry["issue_id"] in ours]
        found = []
        if len(issues) != len(self.events) or len({issue["subject"] for issue in issues}) != len(self.events):
            found.append(f"{self.name}: {len(issues)} issues for {len(self.events)} tickets")
        if len(entries) != len(self.events) or len({entry["issue_id"] for entry in entries}) != len(
            self.events
        ):
            found.append(f"{self.name}: {len(entries)} time entries for {len(self.events)} ticket tasks")
        if any(issue["author"] not in ("alice", "bob") or issue["status_id"] != 2 for issue in issues):
            found.append(f"{self.name}: an issue by somebody else, or with another status")
        if any(entry["user"] not in ("alice", "bob") or entry["hours"] != 1.5 for entry in entries):
            found.append(f"{self.name}: a time entry by somebody else, or with other hours")
        return found


def batch(size: int) -> Batch:
    """Return a batch of tickets that are in no other batch."""
    number = next(_batches)
    name = f"batch {number}"
    return Batch(name, [_event(name, number * MOST_EVENTS + index) for index in range(1, size + 1)])


def _event(name: str, ident: int) -> dict[str, Any]:
    person = ALICE if ident % 2 else BOB
    of_ticket = ticket(ident, title=f"[{name}] Ticket {ident}", content=CONTENT, technician=person)
    return task_event(of_ticket=of_ticket, of_task=task(ident, content=CONTENT, user=person))


def signed(content: dict[str, Any] | Sequence[dict[str, Any]], events: int) -> Delivery:
    """Return a signed request with a unique delivery id.

    Args:
        content: one event, or several.
        events: number of events in it.
    """
    webhook_id = f"bench-{next(_requests)}"
    now = datetime.now(UTC)
    body = json.dumps(content)
    headers = {
        "content-type": "application/json",
        "webhook-id": webhook_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": _webhook.sign(webhook_id, now, body),
    }
    return Delivery(body.encode(), headers, events)
