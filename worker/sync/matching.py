"""Is this object of the tracker the one a claim created? Pure comparisons, with the tracker's normalisations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from shared.kinds import Kind
from shared.text import normalised

Essence = tuple[Any, ...]
ANYBODY = 2**31  # more than a tracker has users


@dataclass(frozen=True, slots=True)
class Candidate:
    """An object of the tracker that no ledger row holds and that has the claim's text."""

    tracker_id: int
    author_id: int | None
    status_id: int | None
    created_on: datetime


@dataclass(frozen=True, slots=True)
class Doubt:
    """A row in doubt, as far as matching needs it; times by the tracker's clock.

    Attributes:
        refused: tracker ids that a person has said are not its own.
    """

    key: int
    authors: tuple[int, ...]
    since: datetime
    refused: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a lookup says of rows in doubt; a row in neither is absent on the tracker.

    Attributes:
        adopted: row key to the candidate that is taken for its own.
        unclear: row key to candidates that would be its own but for their author.
    """

    adopted: dict[int, Candidate]
    unclear: dict[int, list[Candidate]]


def sent_essence(kind: Kind, body: Mapping[str, Any]) -> Essence:
    """Return what the tracker keeps unchanged of a request body; nothing that it may replace."""
    if kind is Kind.TICKET:
        issue = body["issue"]
        return _issue_essence(issue.get("project_id"), issue.get("subject"), issue.get("description"))
    entry = body["time_entry"]
    return _time_essence(entry.get("issue_id"), entry.get("hours"), entry.get("comments"))


def found_essence(kind: Kind, row: Mapping[str, Any]) -> Essence:
    """Return the same of an object as the tracker lists it."""
    if kind is Kind.TICKET:
        return _issue_essence(_id(row, "project"), row.get("subject"), row.get("description"))
    return _time_essence(_id(row, "issue"), row.get("hours"), row.get("comments"))


def fingerprint(kind: Kind, body: Mapping[str, Any]) -> str:
    """Return a hash that two creations share when the tracker's objects could not be told apart."""
    return hashlib.sha256(json.dumps([kind, *sent_essence(kind, body)]).encode()).hexdigest()


def candidates(
    kind: Kind, rows: Sequence[Mapping[str, Any]], essence: Essence, held: Collection[int]
) -> list[Candidate]:
    """Return the listed objects that have this essence and that no ledger row holds."""
    found = {
        one.tracker_id: one for row, one in unheld(kind, rows, held) if found_essence(kind, row) == essence
    }
    return sorted(found.values(), key=lambda one: one.tracker_id)


def unheld(
    kind: Kind, rows: Sequence[Mapping[str, Any]], held: Collection[int]
) -> Iterator[tuple[Mapping[str, Any], Candidate]]:
    """Yield the listed objects that no ledger row holds."""
    person = "author" if kind is Kind.TICKET else "user"
    for row in rows:
        created_on = moment_of(row.get("created_on"))
        tracker_id = row.get("id")
        if isinstance(tracker_id, int) and tracker_id not in held and created_on is not None:
            yield row, Candidate(tracker_id, _id(row, person), _id(row, "status"), created_on)


def assign(doubts: Sequence[Doubt], found: Sequence[Candidate]) -> dict[int, Candidate]:
    """Give as many rows in doubt as possible a candidate each (a maximum matching).

    Rows that fewer people may be the author of choose first: whoever may also have been repeated as the administrator
    does not take the issue of a row that nobody but the administrator was asked for.

    Args:
        doubts: rows that cannot be told apart, oldest claim first.
        found: candidates, oldest first.

    Returns:
        Row key to its candidate; rows left out have none.
    """
    taken: dict[int, int] = {}  # index in found -> index in doubts

    def place(index: int, tried: set[int]) -> bool:
        for number, candidate in enumerate(found):
            if number in tried or not fits(doubts[index], candidate):
                continue
            tried.add(number)
            if number not in taken or place(taken[number], tried):
                taken[number] = index
                return True
        return False

    for index in sorted(range(len(doubts)), key=lambda number: len(doubts[number].authors) or ANYBODY):
        place(index, set())
    return {doubts[index].key: found[number] for number, index in taken.items()}


def settle(doubts: Sequence[Doubt], found: Sequence[Candidate]) -> Verdict:
    """Decide on rows that cannot be told apart: adopted, unclear (only the author does not fit), else absent.

    Args:
        doubts: the rows, oldest claim first.
        found: the candidates, oldest first.
    """
    adopted = assign(doubts, found)
    taken = {one.tracker_id for one in adopted.values()}
    unclear: dict[int, list[Candidate]] = {}
    for doubt in doubts:
        left = [one for one in found if one.tracker_id not in taken and is_possible(doubt, one)]
        if doubt.key not in adopted and left:
            unclear[doubt.key] = left
    return Verdict(adopted, unclear)


def fits(doubt: Doubt, candidate: Candidate) -> bool:
    """Tell whether a candidate may be what a claim created: its author is possible, its time is not before."""
    author_possible = not doubt.authors or candidate.author_id in doubt.authors
    return author_possible and is_possible(doubt, candidate)


def is_possible(doubt: Doubt, candidate: Candidate) -> bool:
    """Tell whether a candidate may be what a claim created but for its author: not from before, not refused."""
    return candidate.created_on >= doubt.since and candidate.tracker_id not in doubt.refused


def _issue_essence(project_id: Any, subject: Any, description: Any) -> Essence:
    return project_id, normalised(str(subject or "")), normalised(str(description or ""))


def _time_essence(issue_id: Any, spent: Any, comments: Any) -> Essence:
    return issue_id, _two_decimals(spent), normalised(str(comments or ""))


def _two_decimals(spent: Any) -> str:
    try:
        return str(Decimal(str(spent)).quantize(Decimal("0.01"), ROUND_HALF_UP))
    except ArithmeticError:
        return str(spent)


def _id(row: Mapping[str, Any], name: str) -> int | None:
    part = row.get(name)
    return part.get("id") if isinstance(part, dict) else None


def moment_of(value: Any) -> datetime | None:
    """Return a time-stamp of the tracker, None where it is unreadable."""
    try:
        moment = datetime.fromisoformat(str(value))
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except ValueError:
        return None
