"""Sample events of a helpdesk, and what must become of each: every row of SPEC section 3, and more.

Five files of data lie beside this one:

- `events.jsonl`: one event a line, as `deskbridge event send` takes them; a repeated line is delivered twice.
- `glpi.jsonl`: bodies of GLPI's own webhooks, one a line, each with the address it is sent to; they come last.
- `expectations.jsonl`: line N says what event N shows and how it must end.
- `tracker.json`: by ticket, what the tracker must hold in the end: its issue and its time entries by ticket task.
- `installation.json`: the configuration, links and user overrides that the samples need.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parent


@dataclass(frozen=True)
class Sample:
    """One delivery of the helpdesk and what must become of it.

    Attributes:
        delivery_id: id of the delivery; fixed, so that a later start delivers the same once more.
        event: the event's body; of GLPI's webhook only which ticket and ticket task it is about.
        what: what the sample shows, in a few words.
        state: the state in which the journal must end it.
        reason: words that the journal's reason must contain.
        trace: words that one step each of the ticket's trace must contain.
        fault: the fault to switch on at the tracker before it is sent for the first time.
        glpi: the last part of the address of GLPI's webhook that it is sent to, and its body; None: a signed event.
        duplicate: it repeats an earlier line: the producer must say so, also at the first start.
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
        """The ticket that it is about."""
        return int(self.event["ticket"]["id"])

    @property
    def task_id(self) -> int | None:
        """The ticket task that it is about, None for a ticket update."""
        task = self.event.get("task")
        return int(task["id"]) if task else None


@dataclass(frozen=True)
class TicketOnTracker:
    """What the tracker must hold of one ticket in the end.

    Attributes:
        issue: fields that its issue must have; None: there must be none.
        time_entries: by ticket task, fields that its time entry must have; None: there must be none.
    """

    issue: dict[str, Any] | None
    time_entries: dict[int, dict[str, Any] | None]


@dataclass(frozen=True)
class Installation:
    """What an administrator sets up for the samples.

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
    """The samples in the order in which they are told; those of one ticket are sent in this order."""

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
        directory: where the files are.

    Raises:
        ValueError: the files do not belong together.
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
    """Return which ticket, and which ticket task where it is about one, a body of GLPI's tells of."""
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
