"""What each error does to a ticket's pass, as one table: to the events, to the circuit breaker, to a claimed row.

`Forwarding._attempt` takes from it what becomes of the events that a step was for, `create` what becomes of the row
that it has claimed, and `SyncService` which errors open the breaker. An error counts as the nearest class that has a
row.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from shared.errors import (
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
    """What becomes of the events that a step was for."""

    FAIL = "they fail, refused for good, and can be replayed"
    WAIT = "they are due after a pause"
    WAIT_LONGER = "they are due after a pause that grows with the attempts"
    STAY = "they stay pending, and the error ends the pass"
    STAY_OR_WAIT = "they stay pending, and wait if the tracker may have acted; the error ends the pass"


class Row(StrEnum):
    """What becomes of the ledger row that was claimed for the step."""

    FREE = "free"
    IN_DOUBT = "in doubt"
    FREE_OR_IN_DOUBT = "in doubt if the tracker may have acted, otherwise free"
    CLAIMED = "claimed, until its lease is over"
    NONE = "none was claimed"


@dataclass(frozen=True, slots=True)
class Effect:
    """What an error does.

    Attributes:
        events: to the events.
        costs_attempt: whether events that wait for it have used up an attempt.
        opens_breaker: whether all tickets wait.
        row: to the claimed row.
    """

    events: Events
    costs_attempt: bool
    opens_breaker: bool
    row: Row


OUTAGE = Effect(Events.STAY, costs_attempt=False, opens_breaker=True, row=Row.FREE)
UNCLEAR_OUTAGE = Effect(Events.STAY_OR_WAIT, costs_attempt=True, opens_breaker=True, row=Row.FREE_OR_IN_DOUBT)
OWN_FAULT = Effect(Events.STAY, costs_attempt=True, opens_breaker=False, row=Row.CLAIMED)
"""`SyncService` puts the ticket's events off, as it does for any fault of deskbridge's own."""

TABLE: dict[type[BridgeError], Effect] = {
    TrackerRejected: Effect(Events.FAIL, costs_attempt=False, opens_breaker=False, row=Row.FREE),
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
    """Return what an error does to a pass."""
    return next(TABLE[one] for one in type(error).__mro__ if one in TABLE)
