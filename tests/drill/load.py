"""The help desk: sends each posting until the producer answers 202, and records the accepted events."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import requests
from standardwebhooks import Webhook

from tests.drill.day import Posting

SENDERS = 6
TIMEOUTS_S = (2, 5)
AGAIN_S = (0.1, 0.3, 1.0, 2.0)
MOST_PROBLEMS = 20


@dataclass
class Receipt:
    """What the help desk knows of one event: the time of the first try and of the first 202, and the event id."""

    first_try: datetime
    accepted: datetime | None = None
    event_id: int | None = None
    times: int = 0


@dataclass
class Receipts:
    """The producer's answers; safe to use from several threads.

    Attributes:
        by_delivery: receipts by delivery id.
        problems: answers that no help desk should ever get.
        repeated: how many requests had to be sent again.
    """

    by_delivery: dict[str, Receipt] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    repeated: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def accepted(self) -> dict[str, Receipt]:
        """The receipts of events that were answered with 202."""
        with self._lock:
            return {name: one for name, one in self.by_delivery.items() if one.accepted}

    @property
    def deliveries(self) -> int:
        """How many deliveries were answered with 202, including copies."""
        with self._lock:
            return sum(one.times for one in self.by_delivery.values())

    def tries(self, names: Sequence[str]) -> None:
        """Record that events are about to be sent."""
        with self._lock:
            for name in names:
                self.by_delivery.setdefault(name, Receipt(datetime.now(UTC)))

    def takes(self, names: Sequence[str], answered: Sequence[dict[str, Any]]) -> None:
        """Record a 202."""
        if len(names) != len(answered):
            self.complain(f"{len(names)} events were sent, {len(answered)} were acknowledged")
            return
        for name, one in zip(names, answered, strict=True):
            with self._lock:
                receipt = self.by_delivery[name]
                before, receipt.event_id = receipt.event_id, one["event_id"]
                receipt.accepted = receipt.accepted or datetime.now(UTC)
                receipt.times += 1
            if before not in (None, one["event_id"]):
                self.complain(f"{name} was accepted as event {before}, then as {one['event_id']}")

    def sends_again(self) -> None:
        """Count a repeated request."""
        with self._lock:
            self.repeated += 1

    def complain(self, problem: str) -> None:
        """Record a problem that must never happen."""
        with self._lock:
            if len(self.problems) < MOST_PROBLEMS:
                self.problems.append(problem)


class Helpdesk:
    """Sends postings when they are due, from several threads.

    Args:
        url: the producer's URL for events.
        secret: the signing secret.
        postings: the requests to send, in the order in which they are due.
    """

    def __init__(self, url: str, secret: str, postings: Sequence[Posting]) -> None:
        self.receipts = Receipts()
        self._url = url
        self._webhook = Webhook(secret)
        self._waiting = iter(postings)
        self._next = threading.Lock()
        self._stopped = threading.Event()
        self._began = 0.0
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(SENDERS)]

    def start(self) -> None:
        """Begin the day."""
        self._began = time.monotonic()
        for thread in self._threads:
            thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait until every event is accepted; return False if that takes too long."""
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        """Stop sending."""
        self._stopped.set()

    def _work(self) -> None:
        with requests.Session() as session:
            session.trust_env = False
            while not self._stopped.is_set():
                with self._next:
                    posting = next(self._waiting, None)
                if posting is None:
                    return
                self._stopped.wait(max(0.0, self._began + posting.at - time.monotonic()))
                self._deliver(session, posting)

    def _deliver(self, session: requests.Session, posting: Posting) -> None:
        names = [event["delivery_id"] for event in posting.events]
        self.receipts.tries(names)
        body = json.dumps(posting.events)
        tries = 0
        while not self._stopped.is_set():
            if self._post(session, posting.webhook_id, body, names):
                return
            self.receipts.sends_again()
            self._stopped.wait(AGAIN_S[min(tries, len(AGAIN_S) - 1)])
            tries += 1

    def _post(self, session: requests.Session, webhook_id: str, body: str, names: list[str]) -> bool:
        now = datetime.now(UTC)
        headers = {
            "content-type": "application/json",
            "webhook-id": webhook_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": self._webhook.sign(webhook_id, now, body),
        }
        try:
            answer = session.post(self._url, data=body.encode(), headers=headers, timeout=TIMEOUTS_S)
        except requests.RequestException:
            return False
        if answer.status_code == 202:
            self.receipts.takes(names, answer.json()["accepted"])
            return True
        if answer.status_code != 503:
            self.receipts.complain(f"the producer answered {answer.status_code}: {answer.text[:200]}")
        return False
