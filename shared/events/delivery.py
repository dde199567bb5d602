"""An event as it was delivered, ready for the journal."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import Any

from shared.errors import InvalidEvent
from shared.events.config import PrivateTexts
from shared.events.event import Deletion, Event
from shared.events.parsing import as_stored, parse
from shared.events.snapshots import TicketTask
from shared.notices.invalid import Invalid

DELIVERY_ID = re.compile(r"[\x21-\x7e]{1,255}")
AS_SENT = json.JSONEncoder(allow_nan=False)
ORDERED = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Delivery:
    """A validated event as it was delivered.

    Attributes:
        delivery_id: the sender's id of this delivery; the same id with the same body changes nothing.
        event: the validated event.
        payload: the event as sent, as ASCII JSON; extra keys are included, except those of a document.
        digest: SHA-256 of the payload with sorted keys, to distinguish a redelivery from another event. It excludes
            private texts, so that a redelivery is recognised whether or not the text was stored.
        traceparent: the trace that the event came with (W3C Trace Context), or None.
    """

    delivery_id: str
    event: Event | Deletion
    payload: str
    digest: str
    traceparent: str | None = None

    @property
    def identity(self) -> tuple[str, str]:
        """Delivery id and digest, which are the same in a redelivery."""
        return self.delivery_id, self.digest

    @property
    def has_private_text(self) -> bool:
        """Whether it contains the text of a private ticket task or follow-up."""
        return _private_text(self.event) != PrivateTexts.NONE

    def with_texts(self, kept: PrivateTexts) -> Delivery:
        """Return the delivery without private texts that may not be stored, as if they had not been sent."""
        private = _private_text(self.event)
        if private == PrivateTexts.NONE or kept & private:
            return self
        data = _public(json.loads(self.payload), private)
        return replace(parse_delivery(data, self.delivery_id), traceparent=self.traceparent)


def parse_delivery(data: object, delivery_id: str, *, clean: bool = False, flat: bool = False) -> Delivery:
    """Validate one event, and return it as it was sent.

    Args:
        data: the decoded JSON of the event.
        delivery_id: the id of the delivery; 1 to 255 printable ASCII characters.
        clean: as for `parse`.
        flat: as for `parse`.

    Returns:
        The delivery, ready for the journal.

    Raises:
        InvalidEvent: if the event or the delivery id is not valid; names every fault by its path.
    """
    event = parse(data, clean=clean, flat=flat)
    if not DELIVERY_ID.fullmatch(delivery_id):
        raise InvalidEvent([("delivery_id", Invalid.DELIVERY_ID_EXPECTED())])
    kept = as_stored(data, event)
    try:
        payload = AS_SENT.encode(kept)
    except ValueError:
        raise InvalidEvent([("(event)", Invalid.NUMBER_OUT_OF_RANGE())]) from None
    public = _public(kept, _private_text(event))
    digest = hashlib.sha256(ORDERED.encode(public).encode()).hexdigest()
    return Delivery(delivery_id, event, payload, digest)


def _private_text(event: Event | Deletion) -> PrivateTexts:
    """Return the kind of private text that an event contains."""
    task, followup = event.task, event.followup if isinstance(event, Event) else None
    if isinstance(task, TicketTask) and task.public.content != task.content:
        return PrivateTexts.TASKS
    if followup is not None and followup.is_private and followup.content is not None:
        return PrivateTexts.FOLLOWUPS
    return PrivateTexts.NONE


def _public(data: Any, private: PrivateTexts) -> Any:
    """Return the JSON of an event without its private text."""
    if private == PrivateTexts.NONE:
        return data
    holder = "task" if private == PrivateTexts.TASKS else "followup"
    return {**data, holder: {**data[holder], "content": None}}
