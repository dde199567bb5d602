"""How long a drill takes and how much it does."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """One size of drill.

    Attributes:
        seconds: how long load and faults last.
        tickets: tickets of the helpdesk's day.
        events: of all tickets together, about; notes and documents are among them.
        faults: faults to inject.
        sync_seconds: in how many seconds everything must be synced once the faults have ended.
        besieged: seconds of a siege before the faults.
        patience: seconds after which the whole drill ends by itself, whatever it is doing.
    """

    name: str
    seconds: float
    tickets: int
    events: int
    faults: int
    sync_seconds: float = 120.0
    besieged: float = 20.0
    patience: float = 600.0


PROFILES = {
    one.name: one
    for one in (
        Profile("brief", seconds=45, tickets=80, events=500, faults=60, patience=300),
        Profile("short", seconds=130, tickets=260, events=2000, faults=180, patience=400),
        Profile("long", seconds=800, tickets=900, events=8000, faults=1250, besieged=60, patience=1300),
    )
}
