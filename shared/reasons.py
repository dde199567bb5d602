"""Reasons that more than one part of deskbridge speaks of; the journal keeps them as words for people."""

from __future__ import annotations

NO_LINK = (
    "neither the ticket's helpdesk project nor its entity is linked to a tracker project "
    "(link one with `deskbridge link`, then replay)"
)
