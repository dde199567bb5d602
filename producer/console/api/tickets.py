"""/api/tickets: the results for a ticket and its parts, in short, for the ticket's page in the help desk."""

from __future__ import annotations

from producer.admin.queries.outcome import TicketOutcome, ticket_outcome
from producer.console.api.routes import api_router
from producer.console.auth.answers import Id, WithServices
from producer.http.problems import refusals

router = api_router("/api/tickets", "tickets")


@router.get("/{ticket_id}", responses=refusals(404))
def outcome(services: WithServices, ticket_id: Id) -> TicketOutcome:
    """Show the result of a ticket and its tasks, notes and documents; `Accept-Language` sets the language."""
    return ticket_outcome(services.store, ticket_id)
