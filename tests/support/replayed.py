"""The time until an event starts that a user replays behind a backlog."""

from __future__ import annotations

import time

from sqlalchemy import select

from shared.store.tables.journal import EventState, JournalEvent
from tests.support.events import task, task_event, ticket
from tests.support.fleet import Fleet
from tests.support.waiting import until

BACKLOG = 2000
STARTED_WITHIN_S = 90
SLOW_MS = 400
"""A latency of the tracker that keeps the backlog waiting during the whole measurement. A replay's entry waits for two
calls of other tickets and for the one that reads its issue."""

FIRST = 1


def replay_behind_a_backlog(fleet: Fleet) -> float:
    """Return the seconds until the tracker is called for a ticket that is replayed behind 2,000 others.

    Args:
        fleet: a fleet with a producer and no worker yet.
    """
    comments = f"Extinguished {FIRST}"
    fleet.add_worker(2)
    fleet.stand_in.fault("status_before", method="POST", path="/time_entries.json", status=422)
    fleet.send([("replayed", task_event(of_ticket=ticket(FIRST), of_task=task(FIRST)))])
    until(lambda: fleet.states().get("failed") and not fleet.left(), fleet.logs, STARTED_WITHIN_S)
    fleet.stand_in.clear_faults()
    with fleet.bridge.store.database.transaction() as session:
        event_id = session.scalar(select(JournalEvent.id).where(JournalEvent.state == EventState.FAILED))
    fleet.stand_in.settings(latency_ms=SLOW_MS)
    numbers = range(FIRST + 1, FIRST + 1 + BACKLOG)
    events = [(f"behind-{one}", task_event(of_ticket=ticket(one), of_task=task(one))) for one in numbers]
    fleet.send(events, batch=200)
    called, logged = calls(fleet), calls(fleet, comments)
    until(lambda: calls(fleet) > called + 4, fleet.logs, STARTED_WITHIN_S)
    time.sleep(3)  # the worker has filled its inbox
    replayed = fleet.run("event", "replay", str(event_id))
    assert replayed.returncode == 0, replayed.stderr
    began = time.monotonic()
    until(lambda: calls(fleet, comments) > logged, fleet.logs, 60)
    took = time.monotonic() - began
    assert fleet.states()["pending"] > BACKLOG / 2, "most of the backlog waits still"
    return took


def calls(fleet: Fleet, comments: str = "") -> int:
    """Return the number of creating calls, or only of those of a time entry with the comments."""
    bodies = [one["body"] for one in fleet.stand_in.requests() if one["method"] == "POST" and one["body"]]
    if not comments:
        return len(bodies)
    return sum(body.get("time_entry", {}).get("comments") == comments for body in bodies)
