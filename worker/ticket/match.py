"""Comparisons that tell whether a claim created a tracker object; pure, with the tracker's normalisations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from shared.events.snapshots import day_of
from shared.events.text import normalised
from shared.notices.kinds import Kind
from shared.values.identity import moment_of
from shared.values.ids import id_in, read_id
from shared.values.listed_hours import hours_listed_for, number_of, two_decimals

ANYBODY = 2**31  # more users than a tracker has
TOLD_APART_BY = {
    Kind.TICKET: ("project_id", "subject", "description"),
    Kind.TICKET_TASK: ("issue_id", "comments"),
}
"""The fields of a request body that identify it, apart from its hours: its place, then its texts."""

NO_HOURS: frozenset[Decimal | None] = frozenset([None])


@dataclass(frozen=True, slots=True)
class Essence:
    """The values of a creation that the tracker stores and does not replace.

    Attributes:
        place: tracker project of an issue; issue of a time entry or an addition.
        subject: subject of an issue.
        text: description, comment, note, or name of an attachment.
        hours: hours of a time entry: all values that the tracker may list for the sent one, or the listed one.
        day: day of a time entry; None if none was sent: then it is the day on which the tracker received it.
        size: size of an attachment in bytes; None if unknown.
        tracker_id: id of an attachment, which is known once it is uploaded; None if unknown.
    """

    place: Any
    subject: str
    text: str
    hours: frozenset[Decimal | None] = NO_HOURS
    day: str | None = None
    size: int | None = None
    tracker_id: int | None = None

    def meets(self, other: Essence) -> bool:
        """Return whether the two may describe the same object; two known ids decide alone."""
        if self.tracker_id is not None and other.tracker_id is not None:
            return self.tracker_id == other.tracker_id
        return (self.subject, self.text) == (other.subject, other.text) and self.meets_but_for_text(other)

    def meets_but_for_text(self, other: Essence) -> bool:
        """Return whether the two may describe the same object if the tracker changes texts."""
        if_known = (
            (self.day, other.day),
            (self.size, other.size),
            (self.tracker_id, other.tracker_id),
        )
        is_same = all(one == another or None in (one, another) for one, another in if_known)
        return self.place == other.place and is_same and not self.hours.isdisjoint(other.hours)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tracker object that no ledger row holds; `listed` is the object as the tracker lists it."""

    tracker_id: int
    author_id: int | None
    status_id: int | None
    created_on: datetime
    essence: Essence | None = None
    listed: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Doubt:
    """The data of a row in doubt that matching needs; times are by the tracker's clock.

    Attributes:
        refused: tracker ids that a person has ruled out for this row.
        essence: the essence of the sent request; None: candidates are not compared with it.
        newest_before: the newest tracker id that was known before the request.
        newest_at: when the object with that id was created; None if unknown.
        until: the latest time at which the request may have had its effect; None if unknown.
    """

    key: Hashable
    authors: tuple[int, ...]
    since: datetime
    refused: tuple[int, ...] = ()
    essence: Essence | None = None
    newest_before: int = 0
    newest_at: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    """The decision on rows in doubt after a lookup; a row in none of the mappings is absent on the tracker.

    Attributes:
        adopted: row key to the candidate that the row adopts.
        unclear: row key to candidates that match in everything but their author.
        other_text: row key to candidates that match in everything but their text.
    """

    adopted: dict[Hashable, Candidate]
    unclear: dict[Hashable, list[Candidate]]
    other_text: dict[Hashable, list[Candidate]] = field(default_factory=dict)


def sent_essence(kind: Kind, body: Mapping[str, Any], issue_id: int | None = None) -> Essence:
    """Return the essence of a request body.

    Args:
        kind: the kind of the object that it creates.
        body: the request.
        issue_id: the issue of an addition, which its body does not name.
    """
    if kind is Kind.DOCUMENT:
        name, size = _file(body)
        return Essence(issue_id, "", name, size=size, tracker_id=uploaded_id(body))
    if kind.is_addition:
        return Essence(issue_id, "", _text(body["issue"], "notes"))
    if kind is Kind.TICKET:
        return _issue_essence(body["issue"].get("project_id"), body["issue"])
    entry = body["time_entry"]
    return _time_essence(entry.get("issue_id"), entry, hours_listed_for(entry.get("hours")))


def found_essence(kind: Kind, row: Mapping[str, Any]) -> Essence:
    """Return the essence of an object as the tracker lists it."""
    if kind is Kind.DOCUMENT:
        place, name = id_in(row.get("issue")), _text(row, "filename")
        return Essence(place, "", name, size=row.get("filesize"), tracker_id=row.get("id"))
    if kind.is_addition:
        return Essence(id_in(row.get("issue")), "", _text(row, "notes"))
    if kind is Kind.TICKET:
        return _issue_essence(id_in(row.get("project")), row)
    hours = number_of(row.get("hours"))
    return _time_essence(
        id_in(row.get("issue")), row, frozenset() if hours is None else frozenset([two_decimals(hours)])
    )


def fingerprint(kind: Kind, body: Mapping[str, Any], issue_id: int | None = None) -> str:
    """Return a hash that is equal for creations whose tracker objects may be indistinguishable.

    It leaves out hours: which values are equal differs between tracker versions, and possible equality is not
    transitive (decision 18). It leaves out the day: an entry that was sent without one may be listed on any day. A
    follow-up and a solution with the same text also share a hash.

    Args:
        kind: the kind of the object that the body creates.
        body: the request.
        issue_id: the issue of an addition.
    """
    if kind.is_addition:
        told = _file(body) if kind is Kind.DOCUMENT else (_text(body.get("issue") or {}, "notes"),)
        parts = [kind.noun, issue_id, *told]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    sent, (place, *texts) = body[kind.wire_name], TOLD_APART_BY[kind]
    parts = [_text(sent, name) for name in texts]
    return hashlib.sha256(json.dumps([kind, sent.get(place), *parts]).encode()).hexdigest()


def candidates(
    kind: Kind, rows: Sequence[Mapping[str, Any]], essences: Collection[Essence], held: Collection[int]
) -> list[Candidate]:
    """Return the listed objects that match one of the essences and that no ledger row holds, oldest first."""
    found = {one.tracker_id: one for one in unheld(kind, rows, held)}
    ordered = sorted(found.values(), key=lambda one: one.tracker_id)
    return [one for one in ordered if any(one.essence and one.essence.meets(sent) for sent in essences)]


def unheld(kind: Kind, rows: Sequence[Mapping[str, Any]], held: Collection[int]) -> Iterator[Candidate]:
    """Yield the listed objects that no ledger row holds."""
    for row in rows:
        created_on = moment_of(row.get("created_on"))
        tracker_id = row.get("id")
        if isinstance(tracker_id, int) and tracker_id not in held and created_on is not None:
            yield Candidate(
                tracker_id,
                id_in(row.get(kind.author)),
                id_in(row.get("status")),
                created_on,
                found_essence(kind, row),
                row,
            )


def assign(doubts: Sequence[Doubt], found: Sequence[Candidate]) -> dict[Hashable, Candidate]:
    """Assign a candidate to as many rows in doubt as possible (a maximum matching).

    Rows with fewer possible authors choose first: a row that may have been repeated as the API user does not take the
    issue of a row that only the API user may have created. Next come rows with a known day, and rows with fewer
    possible hours: 5430 s may be listed as 1.51 or 1.52, 5460 s only as 1.52.

    Args:
        doubts: rows that may be indistinguishable, oldest claim first.
        found: candidates, oldest first.

    Returns:
        Row key to its candidate; rows without a candidate are left out.
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

    for index in sorted(range(len(doubts)), key=lambda number: _choices(doubts[number])):
        place(index, set())
    return {doubts[index].key: found[number] for number, index in taken.items()}


def _choices(doubt: Doubt) -> tuple[int, bool, int]:
    essence = doubt.essence
    return (
        len(doubt.authors) or ANYBODY,
        essence is None or essence.day is None,
        len(essence.hours) if essence else 0,
    )


def resolve(
    doubts: Sequence[Doubt],
    found: Sequence[Candidate],
    earlier: Mapping[Any, Sequence[Candidate]] | None = None,
    other_texts: Sequence[Candidate] = (),
) -> Resolution:
    """Decide on rows that may be indistinguishable: adopted, unclear (author or text does not match) or absent.

    Args:
        doubts: the rows, oldest claim first.
        found: the candidates, oldest first.
        earlier: row key to candidates that match the text of an earlier attempt of that row.
        other_texts: objects whose text no row has sent.
    """
    adopted = assign(doubts, found)
    taken = {one.tracker_id for one in adopted.values()}
    for doubt in doubts:
        mine = [one for one in (earlier or {}).get(doubt.key, ()) if one.tracker_id not in taken]
        own = next((one for one in mine if fits(doubt, one)), None)
        if doubt.key not in adopted and own is not None:
            adopted[doubt.key] = own
            taken.add(own.tracker_id)
    unclear: dict[Hashable, list[Candidate]] = {}
    for doubt in doubts:
        alike = [*found, *(earlier or {}).get(doubt.key, ())]
        left = [one for one in alike if one.tracker_id not in taken and is_possible(doubt, one)]
        if doubt.key not in adopted and left:
            unclear[doubt.key] = left
    other_text: dict[Hashable, list[Candidate]] = {}
    for doubt in doubts:
        left = [one for one in other_texts if fits_but_for_text(doubt, one)]
        if doubt.key not in adopted and doubt.key not in unclear and left:
            other_text[doubt.key] = left
    return Resolution(adopted, unclear, other_text)


def fits(doubt: Doubt, candidate: Candidate) -> bool:
    """Return whether a claim may have created a candidate: `is_possible`, and by a possible author."""
    author_possible = not doubt.authors or candidate.author_id in doubt.authors
    return author_possible and is_possible(doubt, candidate)


def fits_but_for_text(doubt: Doubt, candidate: Candidate) -> bool:
    """Return whether a claim may have created a candidate whose text the tracker has changed (decision 31)."""
    mine, others = doubt.essence, candidate.essence
    is_meant = mine is not None and others is not None and mine.meets_but_for_text(others)
    # a tracker that was restored gives ids again
    is_later = doubt.newest_at is not None and candidate.created_on > doubt.newest_at
    is_newer = candidate.tracker_id > doubt.newest_before or is_later
    is_in_time = doubt.until is None or candidate.created_on <= doubt.until
    return is_meant and is_newer and is_in_time and fits(replace(doubt, essence=None), candidate)


def is_possible(doubt: Doubt, candidate: Candidate) -> bool:
    """Return whether a claim may have created a candidate, whoever its author is: equal, not older, not ruled out."""
    if doubt.essence and candidate.essence and not doubt.essence.meets(candidate.essence):
        return False
    return candidate.created_on >= doubt.since and candidate.tracker_id not in doubt.refused


def uploaded_id(body: Mapping[str, Any]) -> int | None:
    """Return the attachment id, with which a body's upload token begins, or None if it has no token yet."""
    for upload in (body.get("issue") or {}).get("uploads") or ():
        return read_id(str(upload.get("token", "")).partition(".")[0])
    return None


def _file(body: Mapping[str, Any]) -> tuple[str, int | None]:
    """Return the name and the size of the file that a body attaches."""
    uploads = (body.get("issue") or {}).get("uploads") or [{}]
    return _text(uploads[0], "filename"), (body.get("document") or {}).get("size")


def _issue_essence(project_id: Any, issue: Mapping[str, Any]) -> Essence:
    return Essence(project_id, _text(issue, "subject"), _text(issue, "description"))


def _time_essence(issue_id: Any, entry: Mapping[str, Any], hours: frozenset[Decimal | None]) -> Essence:
    return Essence(issue_id, "", _text(entry, "comments"), hours, day_of(str(entry.get("spent_on"))))


def _text(row: Mapping[str, Any], name: str) -> str:
    return normalised(str(row.get(name) or ""))
