"""The names of the tasks in Celery's messages, and how many tickets a message names."""

from __future__ import annotations

SYNC_TICKETS = "deskbridge.sync_tickets"
SWEEP = "deskbridge.sweep"
MAINTENANCE = "deskbridge.maintenance"
TASKS = (SYNC_TICKETS, SWEEP, MAINTENANCE)
MOST_TICKETS = 16
"""Tickets of one message: a message costs as much as a few of them, and a worker is not to take all that there are."""
