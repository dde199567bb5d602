"""What the help desk withdraws: follow-ups, solutions and documents that are deleted, and follow-ups made private."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tests.drill.documents import why_not_at_once, why_not_once_fetched
from tests.support.events import DONE

if TYPE_CHECKING:
    from tests.drill.load import Receipt

SHARE = 0.15
PARTS = ("followup", "solution", "document")
AFTER = 5000
"""Added to the sequence of the event that adds an item, which occurred in the same minute."""


def withdrawals(
    seed: int, added: Iterable[Mapping[str, Any]], files: Mapping[int, bytes]
) -> Iterator[dict[str, Any]]:
    """Yield events that withdraw some of the items that other events add.

    They are drawn apart from the rest of the day. Of documents only those that must arrive are withdrawn.
    """
    items = {(part, event[part]["id"]): event for event in added for part in PARTS if part in event}
    for (part, number), event in items.items():
        chance = random.Random(f"withdrawn {seed} {part} {number}")
        item = event[part]
        is_sent = part != "document" or not (why_not_at_once(item) or why_not_once_fetched(files.get(number)))
        if is_sent and chance.random() < SHARE:
            yield _withdrawal(chance, part, event)


def _withdrawal(chance: random.Random, part: str, event: Mapping[str, Any]) -> dict[str, Any]:
    item, at = event[part], {"occurred_at": event["occurred_at"], "sequence": event["sequence"] + AFTER}
    ticket = {"id": event["ticket"]["id"]}
    how = chance.choice(("deleted", "private", "private, whole")) if part == "followup" else "deleted"
    if how == "deleted":
        return {**at, "event": f"{part}.deleted", "ticket": ticket, part: {"id": item["id"]}}
    if how == "private":
        private = {"id": item["id"], "is_private": True}
        return {**at, "event": f"{part}.updated", "ticket": ticket, part: private}
    return {**at, "event": f"{part}.updated", "ticket": event["ticket"], part: {**item, "is_private": True}}


def is_withdrawal(event: Mapping[str, Any]) -> bool:
    """Tell whether an event withdraws an item."""
    part, _, verb = event["event"].partition(".")
    return part in PARTS and verb != "added"


def was_in_time(key: str, withdrawal: Receipt, accepted: Iterable[tuple[Mapping[str, Any], Receipt]]) -> bool:
    """Tell whether a withdrawal was accepted before its item could have been sent.

    An item is sent when it was added and its ticket has an issue, which needs a finished task.
    """
    of_ticket = list(accepted)
    added = [receipt.first_try for event, receipt in of_ticket if _adds(key, event)]
    finished = [
        receipt.first_try for event, receipt in of_ticket if (event.get("task") or {}).get("state") == DONE
    ]
    possible = [max(min(added), min(finished))] if added and finished else []
    return withdrawal.accepted is not None and all(withdrawal.accepted < at for at in possible)


def _adds(key: str, event: Mapping[str, Any]) -> bool:
    part, _, number = key.partition(":")
    adds = event["event"] != f"{part}.deleted" and part in event
    return adds and bool(event[part]["id"] == int(number))
