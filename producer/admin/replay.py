"""Makes events pending again at a person's word; the ledger keeps what was done from being done twice."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from shared.codes.steps import What
from shared.store import Store
from shared.store.models import EventState
from shared.store.trace import Step


@dataclass(frozen=True, slots=True)
class Replayed:
    """How many events are pending again, and the tickets to ring."""

    events: int
    tickets: list[int]


def replay_events(store: Store, event_ids: Collection[int]) -> Replayed:
    """Replay the named events.

    Raises:
        NotFound: naming those that the journal does not hold; nothing was replayed.
    """
    wanted = set(event_ids)
    with store.transaction() as tx:
        tickets = tx.journal.replay(wanted)
        names = ", ".join(map(str, sorted(wanted)))
        tx.trace.append([_step(ticket_id, f"`deskbridge replay {names}`") for ticket_id in tickets])
    return Replayed(len(wanted), tickets)


def replay_state(store: Store, state: EventState) -> Replayed:
    """Replay every event of a state."""
    with store.transaction() as tx:
        count = tx.journal.count(state)
        tickets = tx.journal.replay_state(state)
        why = f"`deskbridge replay --state {state}`"
        tx.trace.append([_step(ticket_id, why) for ticket_id in tickets])
    return Replayed(count, tickets)


def _step(ticket_id: int, command: str) -> Step:
    return Step(ticket_id, What.PERSON_REPLAYS(command=command))
