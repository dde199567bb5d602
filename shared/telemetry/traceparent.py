"""The W3C Trace Context header `traceparent`, which names a trace and the parent span. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

HEADER = "traceparent"
FORM = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def read(text: object) -> str | None:
    """Return a valid traceparent of version 00 unchanged; None if it is anything else."""
    return text if isinstance(text, str) and FORM.fullmatch(text) else None


def trace_id(traceparent: str) -> str:
    """Return the id of the trace that a traceparent names."""
    return traceparent.split("-")[1]


def read_of_tickets(given: object, ticket_ids: Collection[int]) -> dict[int, str]:
    """Return the traceparents of a queue message by ticket; invalid ones are left out.

    Args:
        given: a traceparent for each ticket id, the id as text.
        ticket_ids: the tickets that the message names.
    """
    by_ticket: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    found = {ticket_id: read(by_ticket.get(str(ticket_id))) for ticket_id in ticket_ids}
    return {ticket_id: one for ticket_id, one in found.items() if one}
