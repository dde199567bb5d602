"""/api/tickets: what became of a ticket and its tasks, in short, for the helpdesk's own page of the ticket."""

from __future__ import annotations

from typing import Any

from producer.admin.looking.story import destination, trace_ticket
from producer.admin.showing.shapes import reason_json
from producer.console.api import models
from producer.console.api.routes import api_router
from producer.console.entry.answers import AtDesk, Id
from producer.web.problems import refusals
from shared.store.tables.ledger import LedgerState

router = api_router("/api/tickets", "tickets")


@router.get("/{ticket_id}", responses=refusals(404), response_model=models.TicketOutcome)
def outcome(desk: AtDesk, ticket_id: Id) -> Any:
    """Tell what became of a ticket and its tasks; reasons come in the language that `Accept-Language` asks for."""
    found = trace_ticket(desk.store, ticket_id)
    place = destination(desk.store, found)
    link, last = found.link, found.last_event
    issue_id = link.tracker_issue_id if link else None
    status_id = found.state.given_status_id if found.state else None
    why = found.refused_status or (link.notice if link else last.notice if last else None)
    return {
        "ticket_id": ticket_id,
        "state": link.state if link else last.state if last else LedgerState.FREE,
        "issue": {
            "id": issue_id,
            "url": f"{found.config.base_url}/issues/{issue_id}",
            "project": place.project,
            "status": place.statuses.get(status_id) if status_id else None,
        }
        if issue_id
        else None,
        "tasks": [
            {
                "id": task.task_id,
                "state": task.state,
                "hours": task.hours,
                "time_entry_id": task.time_entry_id,
                **reason_json(task.notice),
            }
            for task in found.ticket_tasks
        ],
        **reason_json(why),
    }
