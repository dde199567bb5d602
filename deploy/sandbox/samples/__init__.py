"""Sample events of a help desk, and the expected result of each: every row of SPEC section 3, and more.

The folder has five data files:

- `events.jsonl`: one event per line, as `deskbridge event send` reads them; a repeated line is delivered twice.
- `glpi.jsonl`: bodies of GLPI's own webhooks, one per line, each with its address; they come last.
- `expectations.jsonl`: line N has the purpose and the expected result of event N.
- `tracker.json`: by ticket, the tracker's expected final data: issue, and time entries by ticket task.
- `installation.json`: the Redmine settings, project mappings and user mappings that the samples need.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parent


@dataclass(frozen=True)
class Sample:
    """One delivery of the help desk and its expected result.

    Attributes:
        delivery_id: id of the delivery; fixed, so that a later start sends a duplicate.
        event: body of the event; for GLPI's webhook only its ticket and ticket task.
        what: what the sample shows, in a few words.
        state: expected final state in the journal.
        reason: words that the journal's reason must contain.
        trace: texts, each of which one step of the ticket history must contain.
        fault: fault to switch on in the tracker before the first delivery.
        glpi: for GLPI's webhook, the last part of its address, and the body; None for a signed event.
        duplicate: whether it repeats an earlier line, which the producer must report even at the first start.
    """

    delivery_id: str
    event: dict[str, Any]
    what: str
    state: str
    reason: str
    trace: tuple[str, ...] = ()
    fault: dict[str, Any] | None = None
    duplicate: bool = False
    glpi: tuple[str, str] | None = None

    @property
    def ticket_id(self) -> int:
        """The id of its ticket."""
        return int(self.event["ticket"]["id"])

    @property
    def task_id(self) -> int | None:
        """The id of its ticket task, or None for a ticket update."""
        task = self.event.get("task")
        return int(task["id"]) if task else None


@dataclass(frozen=True)
class TicketOnTracker:
    """The expected final data of one ticket in the tracker.

    Attributes:
        issue: fields that its issue must have, or None if there must be no issue.
        time_entries: by ticket task, fields that its time entry must have, or None if there must be none.
    """

    issue: dict[str, Any] | None
    time_entries: dict[int, dict[str, Any] | None]


@dataclass(frozen=True)
class Installation:
    """The set-up that the samples need.

    Attributes:
        config: configuration values by key.
        links: kind (project or entity), helpdesk_id, tracker_project_id, default_category_id.
        user_map: helpdesk_user_id, tracker_user_id.
    """

    config: dict[str, Any]
    links: list[dict[str, Any]]
    user_map: list[dict[str, int]]


@dataclass(frozen=True)
class Samples:
    """The samples in the order of the files; those of one ticket are sent in this order."""

    deliveries: list[Sample]
    tickets: dict[int, TicketOnTracker]
    installation: Installation
    by_ticket: dict[int, list[Sample]] = field(init=False)

    def __post_init__(self) -> None:
        grouped: dict[int, list[Sample]] = {}
        for sample in self.deliveries:
            grouped.setdefault(sample.ticket_id, []).append(sample)
        object.__setattr__(self, "by_ticket", grouped)


def load_samples(directory: Path = DIRECTORY) -> Samples:
    """Read the samples.

    Args:
        directory: folder of the files.

    Raises:
        ValueError: if the files do not match each other.
    """
    told = [*_lines(directory / "events.jsonl"), *_lines(directory / "glpi.jsonl")]
    pairs = zip(told, _lines(directory / "expectations.jsonl"), strict=True)
    tickets = _document(directory / "tracker.json")
    return Samples(
        deliveries=[_sample(event, expected) for event, expected in pairs],
        tickets={int(ticket_id): _ticket(held) for ticket_id, held in tickets.items()},
        installation=Installation(**_document(directory / "installation.json")),
    )


def _sample(event: dict[str, Any], expected: dict[str, Any]) -> Sample:
    if event["delivery_id"] != expected["delivery_id"]:
        raise ValueError(f"event {event['delivery_id']} stands beside {expected['delivery_id']}")
    trace = tuple(expected.pop("trace", ()))
    if "item" in event:
        glpi = (event["item"], json.dumps(event["body"], indent=4))
        return Sample(event=_about(event["body"]), trace=trace, glpi=glpi, **expected)
    body = {name: value for name, value in event.items() if name != "delivery_id"}
    return Sample(event=body, trace=trace, **expected)


def _about(body: dict[str, Any]) -> dict[str, Any]:
    """Return the ticket of a GLPI body and, if it has one, the ticket task."""
    ticket = body.get("parent_item") or body["item"]
    about = {"ticket": {"id": ticket["id"], "title": ticket["name"]}}
    return about | {"task": {"id": body["item"]["id"]}} if "parent_item" in body else about


def _ticket(held: dict[str, Any]) -> TicketOnTracker:
    entries = {int(task_id): entry for task_id, entry in held["time_entries"].items()}
    return TicketOnTracker(held["issue"], entries)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _document(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document
