"""A ticket's history by attempts: what came in, what was done about it, and how that ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby

from producer.admin.queries.story import Step
from shared.notices.steps import Arrival, What
from shared.store.tables.journal import EventState

APART = timedelta(seconds=10)
"""Steps further apart than this belong to two attempts: the steps of one follow each other within a call's limit."""

BEGINNINGS = (
    *Arrival,
    What.PERSON_REPLAYS,
    What.REPLAYED_FOR_LINK,
    What.STATUS_MAP_CHANGED,
    What.TICKET_IS_BACK,
    What.PERSON_DECIDES,
)
"""Steps that something begins with."""

BAD = (
    What.PERHAPS_REFUSED_FOR,
    What.TEMPLATE_FAILED,
    What.CALL_UNANSWERED,
    What.DOUBT_HELD,
    What.ISSUE_WENT_AWAY,
)
STOPPED = (EventState.FAILED, EventState.ON_HOLD)
FEWEST_FOLDED = 2
"""So many probes in a row are folded."""


@dataclass(frozen=True, slots=True)
class Run:
    """Steps that are shown together.

    Attributes:
        steps: one step; or several probes, which are folded.
    """

    steps: Sequence[Step]

    @property
    def is_folded(self) -> bool:
        """Whether these are probes."""
        return len(self.steps) >= FEWEST_FOLDED


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to bring a ticket to Redmine.

    Attributes:
        steps: its steps, oldest first.
    """

    steps: Sequence[Step]

    @property
    def outcome(self) -> Step:
        """The step that tells how it ended: what stopped it, else the last one that is no call."""
        told = [one for one in self.steps if one.call is None] or self.steps
        return next((one for one in reversed(told) if _stops(one)), told[-1])

    @property
    def is_bad(self) -> bool:
        """Whether something stopped it."""
        return _stops(self.outcome)

    @property
    def runs(self) -> list[Run]:
        """Its steps, with probes that follow each other together."""
        found: list[Run] = []
        for are_probes, steps in groupby(self.steps, is_probe):
            together = list(steps)
            if are_probes and len(together) >= FEWEST_FOLDED:
                found.append(Run(together))
            else:
                found += [Run([one]) for one in together]
        return found


def attempts(steps: Sequence[Step]) -> list[Attempt]:
    """Return the attempts that steps belong to.

    Args:
        steps: a ticket's, oldest first.
    """
    found: list[list[Step]] = []
    for step in steps:
        last = found[-1][-1] if found else None
        begins = _begins(step) and not (last and _begins(last))
        if last is None or begins or step.at - last.at >= APART:
            found.append([])
        found[-1].append(step)
    return [Attempt(one) for one in found]


def is_probe(step: Step) -> bool:
    """Return whether a step is a call that only read something, and got it."""
    return step.call is not None and step.call.get("method") == "GET" and not is_bad(step)


def is_bad(step: Step) -> bool:
    """Return whether a step is to be seen at first sight."""
    status = (step.call or {}).get("status")
    return step.code in BAD or (isinstance(status, int) and status >= 400)


def _begins(step: Step) -> bool:
    return step.code in BEGINNINGS


def _stops(step: Step) -> bool:
    ended = step.code == What.EVENTS_ENDED and step.notice.params.get("state") in STOPPED
    return ended or (step.code in BAD and step.code != What.PERHAPS_REFUSED_FOR)
