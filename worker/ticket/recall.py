"""Pure comparisons that find, after a restore, an object that deskbridge created but no longer has in its ledger."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shared.events.payloads import Body
from shared.notices.kinds import Kind
from worker.ticket.match import (
    NO_HOURS,
    Candidate,
    Doubt,
    Essence,
    fits,
    found_essence,
    sent_essence,
    unheld,
)


@dataclass(frozen=True, slots=True)
class Recalled:
    """The result of a lookup before a creation.

    Attributes:
        own: the object that is treated as the one created earlier, or None.
        alike: objects that may be that one, but were edited since or have an unexpected author.
    """

    own: Candidate | None
    alike: list[Candidate]


def recall(
    kind: Kind,
    listed: Sequence[Mapping[str, Any]],
    bodies: Sequence[Body],
    who: Doubt,
    held: Collection[int],
    issue_id: int | None = None,
) -> Recalled:
    """Find the object of a creation of which only the help desk's events are left.

    Args:
        kind: the kind of the object.
        listed: the tracker's objects.
        bodies: the bodies that may have been sent: one for each snapshot, newest first.
        who: the possible authors, and the earliest time (tracker's clock).
        held: tracker ids that belong to other rows.
        issue_id: the issue of an addition.
    """
    found = sorted(
        (one for one in unheld(kind, listed, held) if one.created_on >= who.since),
        key=lambda one: one.tracker_id,
    )
    wanted = list(dict.fromkeys(sent_essence(kind, body, issue_id) for body in bodies))
    for essence in wanted:
        for one in found:
            if fits(replace(who, essence=essence), one):
                return Recalled(one, [])
    alike = {
        one.tracker_id: one
        for one in found
        if any(_is_alike(essence, one, by_author=kind is Kind.TICKET or fits(who, one)) for essence in wanted)
    }
    return Recalled(None, list(alike.values()))


def keeps_texts(
    kind: Kind, listed: Sequence[Mapping[str, Any]], linked: Mapping[int | None, Essence]
) -> bool:
    """Return whether a linked object still has the text that was sent, so that the tracker does not change texts.

    Of an issue, the subject counts: one whose description alone was changed is alike.

    Args:
        kind: the kind of the objects.
        listed: the tracker's objects.
        linked: tracker id to what was sent for it.
    """
    found = [(linked[row["id"]], found_essence(kind, row)) for row in listed if row.get("id") in linked]
    return any((mine.subject or mine.text) == (has.subject or has.text) for mine, has in found)


def _is_alike(wanted: Essence, one: Candidate, *, by_author: bool) -> bool:
    """Return whether an object may be an edited version: same place, and one of two texts (or the hours) unchanged."""
    has = one.essence
    if has is None or wanted.place != has.place:
        return False
    has_more = bool(wanted.subject) or wanted.hours != NO_HOURS
    part = has_more and wanted.subject == has.subject and not wanted.hours.isdisjoint(has.hours)
    return wanted.meets(has) or (by_author and (part or (bool(wanted.text) and wanted.text == has.text)))
