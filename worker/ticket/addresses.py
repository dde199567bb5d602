"""Asks the tracker whose additional e-mail address a help desk user has; its lists show only main addresses."""

from __future__ import annotations

import time
from functools import partial

from shared.notices.reasons import Matching
from shared.store.configuration.matching import BLANKS
from shared.store.transaction import Transaction
from shared.tracker.client import USERS
from shared.tracker.lists import rows_of
from shared.values.ids import is_id
from worker.ticket.context import TicketContext
from worker.ticket.load import Work

AGAIN_S = 3600.0
"""How long an address that no one has is not asked for again."""


async def find_additional(ctx: TicketContext, work: Work) -> None:
    """Pin each person whose address no tracker user has as the main one, but one user as an additional one.

    A new pin changes the settings version. So the creation that follows is refused, and the ticket is loaded again.

    Raises:
        TrackerError: on an outage, or without a clear answer.
    """
    asked, now = ctx.services.settings_cache.asked_addresses, time.monotonic()
    for (helpdesk_user_id, email), match in work.people.items():
        if (
            match.why.code != Matching.EMAIL_UNKNOWN
            or not email
            or now - asked.get(email, -AGAIN_S) < AGAIN_S
        ):
            continue
        found = await _users_with(ctx, email)
        asked[email] = now
        if len(found) == 1:
            await ctx.db.change(partial(_pin, helpdesk_user_id, found[0]))


def _pin(helpdesk_user_id: int, tracker_user_id: int, tx: Transaction) -> None:
    tx.people.pin_additional(helpdesk_user_id, tracker_user_id)


async def _users_with(ctx: TicketContext, email: str) -> list[int]:
    """Return the users with an address, as the tracker tells exactly.

    `name` also finds parts of addresses, and Redmine 5.0 ignores `mail`; only rows of 6.0 and newer have a `status`.
    """
    address = email.strip(BLANKS)
    if "|" in address:  # it would separate two addresses
        return []
    wanted = "|".join(dict.fromkeys((address, address.lower())))
    answer = await ctx.tracker.get(USERS, {"name": address, "mail": f"={wanted}", "limit": "2"})
    rows = rows_of(answer, "users", USERS)
    return [int(row["id"]) for row in rows if "status" in row and is_id(row.get("id"))]
