"""A generated day of a help desk: events, and the expected data of the tracker after all were forwarded."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.events import ALICE, BOB, DONE, moment, task, ticket

PEOPLE = (ALICE, BOB)
STATUSES = (1, 2, 5, 6)


@dataclass
class Expected:
    """The expected data of the tracker for one ticket.

    Attributes:
        status: help desk status in the newest event.
        tasks: by ticket-task id, the hours with which it may be logged; empty for no issue.
        undone: ticket tasks that are not Done in the end: logged if sent before that, else not.
    """

    status: int = 0
    tasks: dict[int, set[float]] = field(default_factory=dict)
    undone: set[int] = field(default_factory=set)

    @property
    def issues(self) -> set[int]:
        """The allowed numbers of issues."""
        if self.tasks.keys() - self.undone:
            return {1}
        return {0, 1} if self.tasks else {0}


@dataclass(frozen=True)
class Workload:
    """Deliveries as the help desk makes them, and the oracle.

    Attributes:
        deliveries: (delivery id, event), duplicated and shuffled.
        expected: by ticket id, the expected result.
    """

    deliveries: list[tuple[str, dict[str, Any]]]
    expected: dict[int, Expected]

    def differences(
        self,
        issues: Sequence[Mapping[str, Any]],
        entries: Sequence[Mapping[str, Any]],
        status_map: Mapping[int, int],
    ) -> list[str]:
        """Compare with the mock Redmine's data; an empty list means that nothing is lost or duplicated."""
        found: list[str] = []
        by_ticket = _by_ticket(issues)
        for ticket_id, expected in self.expected.items():
            mine = by_ticket.pop(ticket_id, [])
            if len(mine) not in expected.issues:
                found.append(f"ticket {ticket_id} has {len(mine)} issues")
                continue
            if not mine:
                continue
            wanted = status_map[expected.status]
            if mine[0]["status_id"] != wanted:
                found.append(f"ticket {ticket_id} has status {mine[0]['status_id']}, not {wanted}")
            found += _entry_differences(
                expected, [one for one in entries if one["issue_id"] == mine[0]["id"]]
            )
        return found + [f"an issue of no ticket: {subject}" for subject in by_ticket]


def generate(seed: int, *, tickets: int = 40, events: int = 200, copies: int = 3) -> Workload:
    """Generate a day.

    Args:
        seed: seed, which makes it repeatable.
        tickets: number of tickets; each ends with at least one Done ticket task.
        events: total number of events, at least two per ticket.
        copies: number of deliveries of each event.
    """
    chance = random.Random(seed)
    expected = {ticket_id: Expected() for ticket_id in range(1, tickets + 1)}
    made: list[dict[str, Any]] = []
    for number in range(events):
        ticket_id = number % tickets + 1
        last_round = number >= events - tickets
        made.append(_event(chance, number, ticket_id, expected[ticket_id], must_log=last_round))
    deliveries = [(f"day-{seed}-{number}", event) for number, event in enumerate(made)] * copies
    chance.shuffle(deliveries)
    return Workload(deliveries, expected)


def _event(
    chance: random.Random, number: int, ticket_id: int, expected: Expected, *, must_log: bool
) -> dict[str, Any]:
    status = chance.choice(STATUSES)
    expected.status = status
    snapshot = ticket(
        ticket_id, status=status, technician=chance.choice(PEOPLE), title=f"Ticket {ticket_id} day"
    )
    logs = must_log and not expected.tasks
    if not logs and chance.random() < 0.4:
        return {"event": "ticket.updated", "occurred_at": moment(number), "ticket": snapshot}
    task_id = ticket_id * 1000 + chance.randrange(3)
    done = logs or chance.random() < 0.6
    seconds = chance.choice((900, 1800, 5400))
    if done:
        expected.tasks.setdefault(task_id, set()).add(seconds / 3600)
        expected.undone.discard(task_id)
    elif task_id in expected.tasks:
        expected.undone.add(task_id)
    state = DONE if done else 1
    work = task(
        task_id, state=state, actiontime=seconds, user=chance.choice(PEOPLE), content=f"Task {task_id}"
    )
    return {"event": "ticket_task.updated", "occurred_at": moment(number), "ticket": snapshot, "task": work}


def _by_ticket(issues: Sequence[Mapping[str, Any]]) -> dict[Any, list[Mapping[str, Any]]]:
    found: dict[Any, list[Mapping[str, Any]]] = {}
    for issue in issues:
        words = issue["subject"].split()
        if words[0] == "Ticket" and words[-1] == "day":
            found.setdefault(int(words[1]), []).append(issue)
    return found


def _entry_differences(expected: Expected, entries: Sequence[Mapping[str, Any]]) -> list[str]:
    found = []
    by_task: dict[int, list[float]] = {}
    for entry in entries:
        by_task.setdefault(int(entry["comments"].split()[1]), []).append(entry["hours"])
    for task_id, hours in expected.tasks.items():
        logged = by_task.pop(task_id, [])
        if not logged and task_id in expected.undone:
            continue
        if len(logged) != 1 or logged[0] not in hours:
            found.append(f"ticket task {task_id} was logged as {logged}, expected one of {sorted(hours)}")
    return found + [f"time for a ticket task that was not Done: {task_id}" for task_id in by_task]
