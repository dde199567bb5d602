"""Sends events to the producer as a help desk would: signed, in batches, over one connection."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import requests
from pydantic import SecretStr
from standardwebhooks import Webhook

from shared.errors import BridgeError
from shared.events.delivery import parse_delivery
from shared.notices.notice import Notice
from shared.notices.refusals import Refusal
from shared.values.utf8 import json_bytes

TIMEOUTS_S = (5, 30)
LONGEST_WAIT_S = 60.0
MOST_WAITS = 10


class NotSent(BridgeError):
    """The events could not be read, or the producer did not accept them; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Ready:
    """An event that is ready to be sent: its JSON, with a delivery id of its own."""

    content: bytes


@dataclass(frozen=True, slots=True)
class Taken:
    """The producer's result for a batch."""

    event_ids: list[int]
    duplicates: int


class ProducerClient:
    """Posts batches over one connection.

    Args:
        url: the producer's address for events.
        secret: signing secret, None to send unsigned.
        sleep: waits for a number of seconds.
    """

    def __init__(
        self, url: str, secret: SecretStr | None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._url, self._sleep = url, sleep
        self._webhook = Webhook(secret.get_secret_value()) if secret else None
        self._session = requests.Session()
        self._session.trust_env = False  # use no proxy of the environment

    def send(self, batch: Sequence[Ready]) -> Taken:
        """Post one batch; post it again if the producer asks to wait.

        Raises:
            NotSent: if the producer cannot be reached or refused it.
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
    """Return the seconds of Retry-After, within bounds."""
    said = answer.headers.get("Retry-After", "")
    return min(float(said), LONGEST_WAIT_S) if said.isdecimal() else 1.0


def ready_event(data: Any) -> Ready:
    """Validate an event as the producer does; if it has no delivery id, derive one from its content.

    Raises:
        InvalidEvent: if the event is invalid; it names every fault by its path.
    """
    own = data.get("delivery_id") if isinstance(data, dict) else None
    event = (
        {name: value for name, value in data.items() if name != "delivery_id"} if own is not None else data
    )
    delivery = parse_delivery(event, own if isinstance(own, str) else "unnamed" if own is None else "")
    delivery_id = own or f"sha256-{delivery.digest}"
    return Ready(json_bytes({**event, "delivery_id": delivery_id}))


def _refusal(answer: requests.Response) -> Notice:
    """Return the refusal that a problem document contains."""
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
