"""Searches for whatever a person types: a ticket, an issue, a person, words of a title, an event."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from producer.admin.records.event_subjects import KnownPerson
from producer.admin.records.transaction import Store
from shared.values.ids import LARGEST

NEWEST = 5_000
"""Number of newest tickets that are searched for words, unless a person wants to search all."""
NUMBER = re.compile(r"(#?)\s*(\d{1,19})")


@dataclass(frozen=True, slots=True)
class Found:
    """The results of a search.

    Attributes:
        number: the typed number; None: people and titles were searched.
        is_issue: whether it was typed as the number of an issue.
        tickets: ids and titles of tickets; without titles after a search for a number.
        issues: tickets whose issue has the number.
        events: ids of events.
        names: names of people who are known from tickets only.
        newest: number of newest tickets that were searched; None: all were.
    """

    number: int | None = None
    is_issue: bool = False
    tickets: list[tuple[int, str]] = field(default_factory=list)
    issues: list[int] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    people: list[KnownPerson] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    newest: int | None = None


def search(store: Store, text: str, *, in_all: bool = False) -> Found:
    """Search for what a person typed: a number, `#19` for an issue, a name, an e-mail, or words of a title.

    Args:
        store: where events are.
        text: what was typed.
        in_all: whether to search every ticket for words, which takes longer, or only the NEWEST.
    """
    typed = NUMBER.fullmatch(text.strip())
    if typed and int(typed[2]) <= LARGEST:
        return _of_number(store, int(typed[2]), is_issue=bool(typed[1]))
    with store.transaction() as tx:
        found = tx.event_subjects
        newest = NEWEST if not in_all and found.has_more_tickets(NEWEST) else None
        people = found.people(text)
        names = [] if people else found.names_in_tickets(text, newest=newest)
        tickets = found.tickets_titled(text, newest=newest)
        return Found(tickets=tickets, people=people, names=names, newest=newest)


def _of_number(store: Store, number: int, *, is_issue: bool) -> Found:
    with store.transaction() as tx:
        found = tx.event_subjects
        issues = found.tickets_of_issue(number)
        tickets = [(number, "")] if found.known_ticket(number) else []
        if is_issue:
            return Found(number, is_issue, [] if issues else tickets, issues)
        events = [number] if found.known_event(number) else []
        return Found(number, is_issue, tickets, issues, events)
