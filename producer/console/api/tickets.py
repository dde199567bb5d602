"""/api/tickets: what became of a ticket and its tasks, in short, for the helpdesk's own page of the ticket."""

from __future__ import annotations

from producer.admin.queries.outcome import TicketOutcome, ticket_outcome
from producer.console.api.routes import api_router
from producer.console.auth.answers import Id, WithServices
from producer.http.problems import refusals

router = api_router("/api/tickets", "tickets")


@router.get("/{ticket_id}", responses=refusals(404))
def outcome(services: WithServices, ticket_id: Id) -> TicketOutcome:
    """Tell what became of a ticket and its tasks; reasons come in the language that `Accept-Language` asks for."""
    return ticket_outcome(services.store, ticket_id)
