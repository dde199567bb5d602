"""What the command line's --json and the API show of things: one shape for both (CONTRACT)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shared.kinds import Kind
    from shared.store.ledger import Row
    from shared.store.links import Link
    from shared.store.models import JournalEvent, MetadataRun
    from shared.usecases.tracing import TicketTrace

Shape = dict[str, Any]
EVENT = (
    "id",
    "key",
    "event",
    "ticket_id",
    "task_id",
    "state",
    "reason",
    "occurred_at",
    "received_at",
    "attempts",
    "next_attempt_at",
)
RUN = ("started_at", "ended_at", "ok", "counts", "differences", "error")


def event_json(row: JournalEvent) -> Shape:
    """Return an event of the journal."""
    return {name: getattr(row, name) for name in EVENT}


def held_json(kind: Kind, row: Row) -> Shape:
    """Return what waits for a person."""
    return {
        "kind": str(kind),
        "id": row.key,
        "since": row.changed_at,
        "reason": row.reason,
        "sent": row.body,
        "candidates": list(row.candidates or ()),
    }


def trace_json(found: TicketTrace) -> Shape:
    """Return a ticket's story."""
    return {
        "ticket_id": found.ticket_id,
        "link": asdict(found.link) if found.link else None,
        "ticket_tasks": [asdict(task) for task in found.ticket_tasks],
        "steps": [asdict(step) for step in found.steps],
    }


def link_json(link: Link) -> Shape:
    """Return a link."""
    return {
        "kind": str(link.kind),
        "id": link.helpdesk_id,
        "tracker_project_id": link.tracker_project_id,
        "default_category_id": link.default_category_id,
    }


def run_json(run: MetadataRun) -> Shape:
    """Return the record of a metadata synchronisation."""
    return {name: getattr(run, name) for name in RUN}
