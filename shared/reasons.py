"""Reasons that more than one part of deskbridge speaks of; the journal keeps them as words for people."""

from __future__ import annotations

ALIKE_AFTER_RESTORE = (
    "a backup was restored, and the tracker has one made since that is alike in part: "
    "it may be this one, edited, or another's that was not sent again yet"
)

NO_LINK = (
    "neither the ticket's helpdesk project nor its entity is linked to a tracker project "
    "(link one with `deskbridge link`, then replay)"
)
