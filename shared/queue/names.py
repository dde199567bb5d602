"""The names of the Celery tasks, and the maximum number of tickets in a message."""

from __future__ import annotations

SYNC_TICKETS = "deskbridge.sync_tickets"
SWEEP = "deskbridge.sweep"
MAINTENANCE = "deskbridge.maintenance"
TASKS = (SYNC_TICKETS, SWEEP, MAINTENANCE)
MOST_TICKETS = 16
"""Tickets per message: a message costs as much as a few tickets, but one worker must not get all of them."""
