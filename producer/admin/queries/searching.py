"""Searches for whatever a person types: a ticket, an issue, a person, words of a title, an event."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from producer.admin.records.event_subjects import KnownPerson
from producer.admin.records.transaction import Store
from shared.values.ids import LARGEST

NEWEST = 5_000
"""So many of the newest tickets are searched for words, unless a person wants all of them."""
NUMBER = re.compile(r"(#?)\s*(\d{1,19})")


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found.

    Attributes:
        number: what was typed, if it is a number; else people and titles were searched.
        is_issue: whether it was typed as the number of an issue.
        tickets: with their titles.
        issues: tickets by the number of their issue.
        events: their numbers.
        names: of people who are known from tickets only.
        newest: so many of the newest tickets were searched; None: all were.
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
        in_all: whether words are looked for in every ticket, which takes longer; else in the NEWEST.
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
