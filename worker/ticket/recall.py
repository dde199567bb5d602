"""After a restore: is this object of the tracker the one that we made and no longer know of? Pure comparisons."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shared.events.payloads import Body
from shared.notices.kinds import Kind
from worker.ticket.match import NO_HOURS, Candidate, Doubt, Essence, fits, sent_essence, unheld


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a lookup before a creation found.

    Attributes:
        own: the object that is taken for the one made before; None: there is none.
        alike: objects that may be it, but were edited since, or have an unexpected author.
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
    """Look for the object of a creation of which only the helpdesk's events are left.

    Args:
        kind: what is created.
        listed: the tracker's objects.
        bodies: what may have been sent: the body of each snapshot, newest first.
        who: possible authors, and since when (tracker's clock).
        held: tracker ids that belong to other rows.
        issue_id: the issue of a note.
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


def _is_alike(wanted: Essence, one: Candidate, *, by_author: bool) -> bool:
    """Return whether one was edited into the other: the same place, and one of two texts (or the hours) the same.

    A note has but one text: an edited one cannot be told from others.
    """
    has = one.essence
    if has is None or wanted.place != has.place:
        return False
    has_more = bool(wanted.subject) or wanted.hours != NO_HOURS
    part = has_more and wanted.subject == has.subject and not wanted.hours.isdisjoint(has.hours)
    return wanted.meets(has) or (by_author and (part or (bool(wanted.text) and wanted.text == has.text)))
