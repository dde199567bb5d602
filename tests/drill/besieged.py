"""Honest traffic during a siege of the producer: each signed event is accepted quickly at its first try."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import requests
from standardwebhooks import Webhook

from deploy.embedded.child import Child
from deploy.embedded.ports import HOST
from tests.support.events import delivery_id, ticket, ticket_event
from tests.support.fleet import ROOT

SENDERS = 3
PAUSE_S = 0.1
TIMEOUT_S = 30.0
SLOWEST_P99_S = 1.5
UNLINKED = {"entity_id": 900_000}
FIRST_TICKET = 50_000_000
"""Above the ticket ids of the help desk's day; these events are accepted and never forwarded."""


@dataclass
class Honest:
    """A help desk that sends an event now and then: one thread on one connection, the others on a new one each time.

    Attributes:
        took: seconds until each 202 response.
        refused: descriptions of all other results.
    """

    url: str
    webhook: Webhook
    took: list[float] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def p99(self) -> float:
        """The 99th percentile of the seconds until a 202."""
        return sorted(self.took)[int(len(self.took) * 0.99)] if self.took else math.inf

    def send(self, seconds: float) -> None:
        """Send for a number of seconds."""
        until = time.monotonic() + seconds
        threads = [threading.Thread(target=self._send, args=(number, until)) for number in range(SENDERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _send(self, number: int, until: float) -> None:
        session, sent = requests.Session(), 0
        session.trust_env = False
        while time.monotonic() < until:
            if number:
                session.close()
            self._post(session, FIRST_TICKET + number * 1_000_000 + sent)
            sent += 1
            time.sleep(PAUSE_S)
        session.close()

    def _post(self, session: requests.Session, ticket_id: int) -> None:
        name, now = delivery_id(), datetime.now(UTC)
        body = json.dumps(ticket_event(of_ticket=ticket(ticket_id, **UNLINKED)))
        headers = {
            "content-type": "application/json",
            "webhook-id": name,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": self.webhook.sign(name, now, body),
        }
        started = time.monotonic()
        try:
            answer = session.post(self.url, data=body.encode(), headers=headers, timeout=TIMEOUT_S)
        except requests.RequestException as error:
            self.refused.append(f"{type(error).__name__} after {time.monotonic() - started:.2f} s")
            return
        if answer.status_code == 202:
            self.took.append(time.monotonic() - started)
        else:
            self.refused.append(f"{answer.status_code} after {time.monotonic() - started:.2f} s")


def besiege(url: str, secret: str, port: int, seconds: float, log: Path) -> Honest:
    """Besiege the producer for some seconds; return the results of honest traffic at the same time."""
    command = [sys.executable, "-m", "tests.support.siege", HOST, str(port)]
    siege = Child("siege", command, log=log, cwd=ROOT)
    honest = Honest(url, Webhook(secret))
    siege.start()
    try:
        honest.send(seconds)
    finally:
        siege.kill()
    return honest


def complaints(honest: Honest) -> list[str]:
    """Return the violations that honest traffic met."""
    found = [f"besieged: a signed event was refused: {one}" for one in honest.refused]
    if honest.p99 > SLOWEST_P99_S:
        found.append(f"besieged: 1 % of signed events took over {honest.p99:.2f} s")
    return found
