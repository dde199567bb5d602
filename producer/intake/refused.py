"""Counts refused deliveries in memory, so that a flood of them costs the database nothing."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from shared.notices.notice import Notice, to_json

MOST_ADDRESSES = 10
NO_ADDRESS = "?"


LATELY_S = 86400.0
"""Seconds for which a sender's refusals are told although other senders have deliveries accepted."""


@dataclass(slots=True)
class Sender:
    """A sender whose deliveries were refused, and of which none was accepted since.

    Attributes:
        count: how many were refused.
        at: when the last one was refused, monotonic.
    """

    count: int = 0
    at: float = 0.0


@dataclass(slots=True)
class OfOneReason:
    """The deliveries that were refused for one reason.

    Attributes:
        why: the reason of the last one.
        at: when the last one was refused, monotonic.
        count: how many there are.
        since: how many there are since the last accepted delivery.
        senders: the latest senders, by address, the last one at the end; not those that had a delivery accepted since.
    """

    why: Notice
    at: float = 0.0
    count: int = 0
    since: int = 0
    senders: OrderedDict[str, Sender] = field(default_factory=OrderedDict)


class Refused:
    """Counts refusals by reason, with the latest addresses of each; nothing of a body is kept."""

    def __init__(self) -> None:
        self._reasons: dict[str, OfOneReason] = {}
        self._lock = threading.Lock()

    def note(self, client: str, why: Notice) -> None:
        """Count a refusal."""
        address = _address(client)
        with self._lock:
            reason = self._reasons.setdefault(str(why.code), OfOneReason(why))
            reason.why, reason.at = why, time.monotonic()
            reason.count += 1
            reason.since += 1
            sender = reason.senders.setdefault(address, Sender())
            sender.count, sender.at = sender.count + 1, reason.at
            reason.senders.move_to_end(address)
            if len(reason.senders) > MOST_ADDRESSES:
                reason.senders.popitem(last=False)

    def accepted(self, client: str | None = None) -> None:
        """Reset the counts of deliveries refused since the last accepted one: of all, and of its sender.

        Args:
            client: the sender's address; None if it may be any of them.
        """
        with self._lock:
            for reason in self._reasons.values():
                reason.since = 0
                if client is None:
                    reason.senders.clear()
                else:
                    reason.senders.pop(_address(client), None)

    def told(self) -> list[dict[str, Any]]:
        """Return the counts as plain JSON, by reason, with the last sender first."""
        now = time.monotonic()
        with self._lock:
            return [
                {
                    "code": code,
                    "params": to_json(reason.why.params),
                    "seconds": round(now - reason.at, 1),
                    "count": reason.count,
                    "since": reason.since,
                    "by_sender": sum(one.count for one in reason.senders.values() if now - one.at < LATELY_S),
                    "addresses": [
                        f"{address} ({one.count})" for address, one in reversed(reason.senders.items())
                    ],
                }
                for code, reason in self._reasons.items()
            ]


def _address(client: str) -> str:
    """Return an IP address; anything else that a proxy forwards becomes NO_ADDRESS."""
    try:
        return str(ipaddress.ip_address(client))
    except ValueError:
        return NO_ADDRESS
