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


@dataclass(slots=True)
class OfOneReason:
    """The deliveries that were refused for one reason.

    Attributes:
        why: the reason of the last one.
        at: when the last one was refused, monotonic.
        count: how many there are.
        since: how many there are since the last accepted delivery.
        addresses: the latest senders, the last one at the end, with their counts.
    """

    why: Notice
    at: float = 0.0
    count: int = 0
    since: int = 0
    addresses: OrderedDict[str, int] = field(default_factory=OrderedDict)


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
            reason.addresses[address] = reason.addresses.pop(address, 0) + 1
            if len(reason.addresses) > MOST_ADDRESSES:
                reason.addresses.popitem(last=False)

    def accepted(self) -> None:
        """Reset the count of deliveries rejected since the last accepted one."""
        with self._lock:
            for reason in self._reasons.values():
                reason.since = 0

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
                    "addresses": [
                        f"{address} ({count})" for address, count in reversed(reason.addresses.items())
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
