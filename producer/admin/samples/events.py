"""The event of a sample: its project, its person, and the mark that identifies what it creates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from producer.admin.records.transaction import Store, Transaction
from shared.errors import BridgeError
from shared.events.config import PluginConfig
from shared.notices.changes import Did
from shared.notices.refusals import Refusal
from shared.notices.templates import TemplateRefusal
from shared.store.configuration.mappings import MappingKind, ProjectMapping
from shared.values.ids import new_sample

SECONDS = 900
ASSIGNED = 2
"""GLPI's status of an assigned ticket, which the sample has unless status_map has only others."""


class NoSample(BridgeError):
    """A sample that cannot be sent; nothing was sent."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A test event.

    Attributes:
        id: id of its ticket, its ticket task and its person.
        link: the mapping that selects the tracker project.
        event: the event as it is posted.
    """

    id: int
    link: ProjectMapping
    event: dict[str, Any]


def mark_of(sample_id: int) -> str:
    """Return the mark that a sample's issue and time entry contain, and nothing else does."""
    return f"[deskbridge sample {sample_id}]"


def new_event(store: Store, entity_id: int | None, email: str | None) -> Sample:
    """Build a test event with a finished ticket task of 15 minutes.

    Args:
        store: the database.
        entity_id: the ticket's entity; None: the first mapped entity, else the first mapped help desk project.
        email: e-mail address of the person; None: no one, so that the API user acts.

    Raises:
        NoSample: if the entity is not mapped, or there is no mapping.
    """
    sample_id = new_sample()
    with store.transaction() as tx:
        link = _mapping(tx, entity_id)
        config, _ = tx.configs.get()
        user = _user(tx, sample_id, email)
    text = f"Sent by `deskbridge event send --sample`, which deletes it. {mark_of(sample_id)}"
    ticket = {
        "id": sample_id,
        "title": f"Test {mark_of(sample_id)}",
        "content": text,
        "status": _status(config),
        "entity_id": link.helpdesk_id if link.kind is MappingKind.ENTITY else 0,
        "project_id": link.helpdesk_id if link.kind is MappingKind.PROJECT else None,
        "technician": user,
    }
    now = datetime.now(UTC)
    task = {
        "id": sample_id,
        "content": text,
        "state": config.done_state,
        "actiontime": SECONDS,
        "user": user,
        "date": f"{now:%Y-%m-%d}",
    }
    event = {"event": "ticket_task.updated", "occurred_at": now.isoformat(), "ticket": ticket, "task": task}
    return Sample(sample_id, link, event)


def note_sent(store: Store, sample: Sample) -> None:
    """Record in the audit log that the producer has accepted a test event."""
    with store.transaction() as tx:
        tx.changes.note(Did.SAMPLE_SENT(id=sample.id))


def _mapping(tx: Transaction, entity_id: int | None) -> ProjectMapping:
    if entity_id is not None:
        found = tx.mappings.get(MappingKind.ENTITY, entity_id)
        if found is None:
            raise NoSample(Refusal.SAMPLE_NOT_LINKED(entity_id=entity_id))
        return found
    links = sorted(tx.mappings.all(), key=lambda one: (one.kind is not MappingKind.ENTITY, one.helpdesk_id))
    if not links:
        raise NoSample(TemplateRefusal.NOTHING_LINKED_YET())
    return links[0]


def _user(tx: Transaction, sample_id: int, email: str | None) -> dict[str, Any] | None:
    """Return the person as events name them: the help desk user with this e-mail, else one of the sample's own."""
    if email is None:
        return None
    known = tx.samples.person(email)
    return {"id": known.id, "email": known.email} if known else {"id": sample_id, "email": email}


def _status(config: PluginConfig) -> int:
    known = sorted(config.status_map)
    return ASSIGNED if ASSIGNED in known or not known else known[0]
