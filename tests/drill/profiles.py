"""The duration and size of a drill."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """One size of a drill.

    Attributes:
        seconds: how long load and faults last.
        tickets: tickets of the help desk's day.
        events: approximate number of events of all tickets, including notes and documents.
        faults: faults to inject.
        sync_seconds: seconds within which everything must be synced after the faults have ended.
        besieged: duration of the siege before the faults, in seconds.
        patience: seconds after which the whole drill ends itself in any case.
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
