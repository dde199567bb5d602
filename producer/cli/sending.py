"""Sends events to the producer as a helpdesk would: signed, in batches, over one connection."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import requests
from pydantic import SecretStr
from standardwebhooks import Webhook

from shared.errors import BridgeError, InvalidEvent
from shared.events.delivery import parse_delivery
from shared.notices.invalid import Invalid
from shared.notices.notice import Notice
from shared.notices.refusals import Refusal
from shared.values.utf8 import json_bytes

MOST_EVENTS = 100
LARGEST_BATCH = 900 * 1024
"""Bytes of a batch; the producer takes 1 MiB."""

MOST_FAULTS = 20
TIMEOUTS_S = (5, 30)
Place = tuple[Literal["number", "line"], int]
"""Which event of a file, or which line."""

LONGEST_WAIT_S = 60.0
MOST_WAITS = 10


class NotSent(BridgeError):
    """The events could not be read, or the producer did not take them; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Ready:
    """An event that is ready to be sent: its JSON, with a delivery id of its own."""

    content: bytes


@dataclass(frozen=True, slots=True)
class Taken:
    """What the producer made of a batch."""

    event_ids: list[int]
    duplicates: int


def read_events(content: bytes) -> list[Ready]:
    """Read a file of events: JSON lines, or one JSON array, or a single event.

    Raises:
        NotSent: it is not such a file; every fault is named by its line or place.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise NotSent(Refusal.EVENT_FILE_NOT_TEXT(line=line)) from None
    ready: list[Ready] = []
    faults: list[Notice] = []
    for place, data, fault in _entries(text):
        if fault:
            faults.append(_fault(place, "", Invalid.JSON_FAULTY(error=fault)))
            continue
        try:
            ready.append(ready_event(data))
        except InvalidEvent as invalid:
            faults += [_fault(place, path, problem) for path, problem in invalid.faults]
    if faults:
        more = max(0, len(faults) - MOST_FAULTS) or None
        raise NotSent(Refusal.EVENTS_NOT_SENT(faults=faults[:MOST_FAULTS], more=more))
    return ready


def batches(ready: Sequence[Ready]) -> Iterator[list[Ready]]:
    """Split events into batches that the producer takes."""
    batch: list[Ready] = []
    size = 0
    for one in ready:
        if batch and (len(batch) == MOST_EVENTS or size + len(one.content) > LARGEST_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += len(one.content) + 2
    if batch:
        yield batch


class ProducerClient:
    """Posts batches over one connection.

    Args:
        url: the producer's address for events.
        secret: signing secret, None to send unsigned.
        sleep: waits so many seconds.
    """

    def __init__(
        self, url: str, secret: SecretStr | None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._url, self._sleep = url, sleep
        self._webhook = Webhook(secret.get_secret_value()) if secret else None
        self._session = requests.Session()
        self._session.trust_env = False  # no proxy of the environment comes in between

    def send(self, batch: Sequence[Ready]) -> Taken:
        """Post one batch, again where the producer asks to wait.

        Raises:
            NotSent: the producer cannot be reached or refused it.
        """
        body = b"[" + b", ".join(one.content for one in batch) + b"]"
        answer = self._post(body)
        for _ in range(MOST_WAITS):
            if answer.status_code != 429:
                break
            self._sleep(_seconds_to_wait(answer))
            answer = self._post(body)
        if answer.status_code != 202:
            raise NotSent(_refusal(answer))
        try:
            accepted = answer.json()["accepted"]
            duplicates = sum(bool(one["duplicate"]) for one in accepted)
            return Taken([int(one["event_id"]) for one in accepted], duplicates)
        except (ValueError, KeyError, TypeError):
            raise NotSent(Refusal.PRODUCER_UNLIKE_ONE(url=self._url)) from None

    def _post(self, body: bytes) -> requests.Response:
        try:
            return self._session.post(
                self._url,
                data=body,
                headers=self._headers(body),
                timeout=TIMEOUTS_S,
                allow_redirects=False,
            )
        except requests.RequestException as error:
            raise NotSent(Refusal.PRODUCER_UNREACHABLE(url=self._url, error=type(error).__name__)) from None

    def close(self) -> None:
        self._session.close()

    def _headers(self, body: bytes) -> dict[str, str]:
        delivery_id, now = f"send-{hashlib.sha256(body).hexdigest()}", datetime.now(UTC)
        headers = {
            "Content-Type": "application/json",
            "webhook-id": delivery_id,
            "webhook-timestamp": str(int(now.timestamp())),
        }
        if self._webhook:
            headers["webhook-signature"] = self._webhook.sign(delivery_id, now, body.decode())
        return headers


def _seconds_to_wait(answer: requests.Response) -> float:
    """Return what Retry-After says, within bounds."""
    said = answer.headers.get("Retry-After", "")
    return min(float(said), LONGEST_WAIT_S) if said.isdecimal() else 1.0


def _entries(text: str) -> Iterator[tuple[Place, Any, str]]:
    """Yield (place, data, what is wrong with it) for each event of a file."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, list):
        yield from ((("number", number), data, "") for number, data in enumerate(whole, 1))
        return
    if whole is not None:
        yield ("line", 1), whole, ""
        return
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield ("line", number), json.loads(line), ""
        except (ValueError, RecursionError) as error:
            yield ("line", number), None, str(error)


def ready_event(data: Any) -> Ready:
    """Validate an event as the producer does, and give it an id that its content decides on.

    Raises:
        InvalidEvent: naming every fault by its path.
    """
    own = data.get("delivery_id") if isinstance(data, dict) else None
    event = (
        {name: value for name, value in data.items() if name != "delivery_id"} if own is not None else data
    )
    delivery = parse_delivery(event, own if isinstance(own, str) else "unnamed" if own is None else "")
    delivery_id = own or f"sha256-{delivery.digest}"
    return Ready(json_bytes({**event, "delivery_id": delivery_id}))


def _refusal(answer: requests.Response) -> Notice:
    """Return what a problem document says."""
    try:
        problem = answer.json()
    except ValueError:
        problem = {}
    if not isinstance(problem, dict):
        problem = {}
    told = [str(problem[name]) for name in ("title", "detail") if problem.get(name)]
    told += [
        f"{fault.get('path')}: {fault.get('detail')}"
        for fault in problem.get("errors") or ()
        if isinstance(fault, dict)
    ]
    return Refusal.PRODUCER_REFUSED(
        status=answer.status_code, errors=told or [answer.reason], wait=answer.headers.get("Retry-After")
    )


def _fault(place: Place, field: str, problem: Notice) -> Notice:
    """Return what is wrong with one event of a file."""
    kind, number = place
    if kind == "line":
        return Invalid.FAULT_ON_LINE(line=number, field=field or None, problem=problem)
    return Invalid.FAULT_OF_EVENT(number=number, field=field, problem=problem)
