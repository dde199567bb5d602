"""One table of what each error does to a ticket's sync pass: to its events, its claimed row and the circuit breaker.

`Forwarding._attempt` reads from it what happens to the events of a step, `create` what happens to the row that it
claimed, and `SyncService` which errors open the circuit breaker. An error without an entry is treated as its nearest
base class that has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from shared.errors import (
    AnswerTooLong,
    BadSignature,
    BridgeError,
    ImpersonationRefused,
    InvalidEvent,
    LeaseExpired,
    LockBusy,
    NotFound,
    NotStarted,
    NotYet,
    OutcomeUnknown,
    Outdated,
    SettingsError,
    TemplateError,
    TrackerAway,
    TrackerBusy,
    TrackerClosed,
    TrackerError,
    TrackerFailing,
    TrackerOutage,
    TrackerRejected,
    TrackerUnreachable,
)


class Events(StrEnum):
    """What happens to the events that a step was for."""

    FAIL = "they fail, refused for good, and can be replayed"
    WAIT = "they are due after a pause"
    WAIT_LONGER = "they are due after a pause that grows with the attempts"
    STAY = "they stay pending, and the error ends the pass"
    STAY_OR_WAIT = "they stay pending, and wait if the tracker may have acted; the error ends the pass"


class Row(StrEnum):
    """What happens to the ledger row that was claimed for the step."""

    FREE = "free"
    IN_DOUBT = "in doubt"
    FREE_OR_IN_DOUBT = "in doubt if the tracker may have acted, otherwise free"
    CLAIMED = "claimed, until its lease is over"
    NONE = "none was claimed"


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of an error.

    Attributes:
        events: what happens to the events.
        costs_attempt: whether events that wait because of it use up an attempt.
        opens_breaker: whether it opens the circuit breaker, so that all tickets wait.
        row: what happens to the claimed row.
    """

    events: Events
    costs_attempt: bool
    opens_breaker: bool
    row: Row


REFUSED = Effect(Events.FAIL, costs_attempt=False, opens_breaker=False, row=Row.FREE)
OUTAGE = Effect(Events.STAY, costs_attempt=False, opens_breaker=True, row=Row.FREE)
UNCLEAR_OUTAGE = Effect(Events.STAY_OR_WAIT, costs_attempt=True, opens_breaker=True, row=Row.FREE_OR_IN_DOUBT)
OWN_FAULT = Effect(Events.STAY, costs_attempt=True, opens_breaker=False, row=Row.CLAIMED)
"""`SyncService` retries the ticket's events later, as after any fault of deskbridge itself."""

TABLE: dict[type[BridgeError], Effect] = {
    TrackerRejected: REFUSED,
    AnswerTooLong: REFUSED,
    LeaseExpired: Effect(Events.WAIT, costs_attempt=False, opens_breaker=False, row=Row.FREE),
    NotYet: Effect(Events.WAIT_LONGER, costs_attempt=True, opens_breaker=False, row=Row.FREE),
    OutcomeUnknown: Effect(Events.WAIT_LONGER, costs_attempt=True, opens_breaker=False, row=Row.IN_DOUBT),
    TrackerUnreachable: OUTAGE,
    TrackerClosed: OUTAGE,
    TrackerBusy: UNCLEAR_OUTAGE,
    TrackerAway: UNCLEAR_OUTAGE,
    TrackerFailing: UNCLEAR_OUTAGE,
    TrackerOutage: OUTAGE,
    SettingsError: Effect(Events.STAY, costs_attempt=False, opens_breaker=True, row=Row.NONE),
    NotStarted: Effect(Events.STAY, costs_attempt=False, opens_breaker=False, row=Row.FREE),
    LockBusy: Effect(Events.STAY, costs_attempt=False, opens_breaker=False, row=Row.CLAIMED),
    Outdated: Effect(Events.STAY, costs_attempt=False, opens_breaker=False, row=Row.NONE),
    ImpersonationRefused: Effect(Events.STAY, costs_attempt=True, opens_breaker=False, row=Row.FREE),
    TrackerError: Effect(Events.STAY, costs_attempt=True, opens_breaker=False, row=Row.FREE),
    TemplateError: OWN_FAULT,
    InvalidEvent: OWN_FAULT,
    BadSignature: OWN_FAULT,
    NotFound: OWN_FAULT,
    BridgeError: OWN_FAULT,
}
OPENS_BREAKER = tuple(error for error, effect in TABLE.items() if effect.opens_breaker)


def effect_of(error: BridgeError) -> Effect:
    """Return the effect of an error on a sync pass."""
    return next(TABLE[one] for one in type(error).__mro__ if one in TABLE)
