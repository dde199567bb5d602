"""Delivers the samples to the producer as a help desk does, and waits until each has ended."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from standardwebhooks import Webhook

from deploy.embedded.administration import Administration, JournalEntry
from deploy.embedded.errors import EmbeddedError
from deploy.sandbox.samples import Sample, Samples

PATIENCE_S = 90.0
POLL_S = 0.05
_ANSWER_TIMEOUT = 10.0

Journal = Mapping[int, JournalEntry]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Delivered:
    """A delivery as the producer acknowledged it."""

    sample: Sample
    event_id: int
    duplicate: bool


@dataclass(frozen=True, slots=True)
class Glpi:
    """The signature of GLPI's own webhooks.

    Attributes:
        secret: secret as configured in GLPI.
        stamp: timestamp of the first attempt, in seconds since the epoch; repeats have the same.
    """

    secret: str
    stamp: int

    def headers(self, body: str) -> dict[str, str]:
        """Return the headers that GLPI sends with a body."""
        signed = f"{body}{self.stamp}".encode()
        signature = hmac.new(self.secret.encode(), signed, hashlib.sha256).hexdigest()
        return {"X-GLPI-signature": signature, "X-GLPI-timestamp": str(self.stamp)}


class Helpdesk:
    """Signs events and posts them to the producer.

    Args:
        producer_url: the producer's address.
        secret: signing secret, `whsec_<base64>`.
        glpi: signs the deliveries of GLPI's own webhooks.
    """

    def __init__(self, producer_url: str, secret: str, glpi: Glpi) -> None:
        self._url = producer_url
        self._webhook = Webhook(secret)
        self._glpi = glpi

    def deliver(self, sample: Sample) -> Delivered:
        """Post one event under its delivery id.

        Raises:
            EmbeddedError: if the producer did not accept it.
        """
        if sample.glpi:
            item, body = sample.glpi
            path, headers = f"/webhooks/glpi/{item}", self._glpi.headers(body)
        else:
            body = json.dumps([{"delivery_id": sample.delivery_id, **sample.event}])
            path, headers = "/events", self._headers(sample.delivery_id, body)
        status, answer = exchange(self._url, "POST", path, body, headers)
        if status != 202:
            raise EmbeddedError(f"the producer refused {sample.delivery_id} with {status}: {answer}")
        (accepted,) = answer["accepted"]
        return Delivered(sample, int(accepted["event_id"]), bool(accepted["duplicate"]))

    def _headers(self, delivery_id: str, body: str) -> dict[str, str]:
        now = datetime.now(UTC)
        return {
            "Content-Type": "application/json",
            "webhook-id": delivery_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": self._webhook.sign(delivery_id, now, body),
        }


class Tracker:
    """Controls the mock Redmine and reads its data.

    Args:
        url: its address.
        key: its administrator's API key.
    """

    def __init__(self, url: str, key: str) -> None:
        self._url, self._headers = url, {"X-Redmine-API-Key": key}

    def state(self) -> dict[str, list[dict[str, Any]]]:
        """Return all its data."""
        found: dict[str, list[dict[str, Any]]] = self._control("GET", "/state")
        return found

    def fault(self, wanted: Mapping[str, Any]) -> int:
        """Switch a fault on; return its id."""
        return int(self._control("POST", "/faults", wanted)["id"])

    def has_struck(self, fault_id: int) -> bool:
        """Return whether a fault has hit a request."""
        faults = self._control("GET", "/faults")["faults"]
        return any(fault["id"] == fault_id and fault["hits"] for fault in faults)

    def clear_fault(self, fault_id: int) -> None:
        """Switch a fault off."""
        self._control("DELETE", f"/faults/{fault_id}")

    def _control(self, method: str, path: str, wanted: object = None) -> Any:
        body = None if wanted is None else json.dumps(wanted)
        status, answer = exchange(self._url, method, f"/_control{path}", body, self._headers)
        if status != 200:
            raise EmbeddedError(f"the mock Redmine answered {status} to {method} {path}: {answer}")
        return answer


class Forwarding:
    """Delivers every sample: those of one ticket in sequence, different tickets in parallel.

    Args:
        samples: the samples to deliver.
        helpdesk: delivers them.
        tracker: the stand-in, for the faults of samples.
        administration: reads the journal.
        check: raises an error if a process has died.
        progress: called with the number of deliveries that have ended, and of all.
    """

    def __init__(
        self,
        samples: Samples,
        helpdesk: Helpdesk,
        tracker: Tracker,
        administration: Administration,
        check: Callable[[], None],
        progress: Progress,
    ) -> None:
        self._samples = samples
        self._helpdesk = helpdesk
        self._tracker = tracker
        self._administration = administration
        self._check = check
        self._progress = progress
        self._faults: dict[int, int] = {}
        self._delivered: dict[int, Delivered] = {}
        self._ended: set[int] = set()

    def prepare(self) -> None:
        """Switch on the faults of samples. Call this before a worker runs.

        These samples are delivered before all others, so that a fault hits no other sample. If the creation
        began in an earlier run, the fault has already happened.
        """
        for number, sample in enumerate(self._samples.deliveries):
            if sample.fault and not self._administration.has_begun(sample.ticket_id):
                self._faults[number] = self._tracker.fault(sample.fault)

    def run(self) -> list[Delivered | None]:
        """Deliver all samples, and wait until they have ended, for a minute and a half at most.

        Returns:
            One entry per sample, in order; None for a sample that was not delivered in time.
        """
        waiting = {ticket_id: self._numbers(ticket_id) for ticket_id in self._samples.by_ticket}
        deadline = time.monotonic() + PATIENCE_S
        for number, fault_id in self._faults.items():
            self._deliver_under_fault(number, fault_id, deadline)
        while time.monotonic() < deadline:
            self._check()
            self._advance(waiting, self._administration.journal(self._samples.by_ticket))
            self._progress(len(self._ended), len(self._samples.deliveries))
            if not any(waiting.values()) and not self._administration.owes_status(self._samples.by_ticket):
                break
            time.sleep(POLL_S)
        return [self._delivered.get(number) for number in range(len(self._samples.deliveries))]

    def _numbers(self, ticket_id: int) -> list[int]:
        deliveries = self._samples.deliveries
        return [number for number, sample in enumerate(deliveries) if sample.ticket_id == ticket_id]

    def _advance(self, waiting: dict[int, list[int]], journal: Journal) -> None:
        """Deliver the next sample of each ticket whose previous one has ended."""
        for numbers in waiting.values():
            while numbers:
                delivered = self._delivered.get(numbers[0])
                if delivered is None:
                    self._deliver(numbers[0])
                    break
                entry = journal.get(delivered.event_id)
                if entry is None or not entry.has_ended:
                    break
                self._ended.add(numbers.pop(0))

    def _deliver(self, number: int) -> None:
        try:
            self._delivered[number] = self._helpdesk.deliver(self._samples.deliveries[number])
        except EmbeddedError:
            self._check()  # if the producer has died, this raises a better error
            raise

    def _deliver_under_fault(self, number: int, fault_id: int, deadline: float) -> None:
        """Deliver a sample alone, and wait until its fault has hit it."""
        self._deliver(number)
        while not self._tracker.has_struck(fault_id) and time.monotonic() < deadline:
            self._check()
            time.sleep(POLL_S)
        self._tracker.clear_fault(fault_id)


def exchange(
    url: str, method: str, path: str, body: str | None = None, headers: Mapping[str, str] | None = None
) -> tuple[int, Any]:
    """Make one call to a server on this machine.

    Returns:
        The status and the decoded JSON answer.

    Raises:
        EmbeddedError: if there is no response, or it is not JSON.
    """
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=_ANSWER_TIMEOUT)
    try:
        connection.request(method, path, body.encode() if body else None, dict(headers or {}))
        response = connection.getresponse()
        return response.status, json.loads(response.read() or b"null")
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise EmbeddedError(f"no clear answer from {url}{path}: {type(error).__name__}") from None
    finally:
        connection.close()
