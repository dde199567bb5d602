"""A ticket's history by attempts: the event, the steps, and the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby

from producer.admin.queries.story import Step
from shared.notices.steps import Arrival, What
from shared.store.tables.journal import EventState

APART = timedelta(seconds=10)
"""Steps this far apart belong to different attempts: within one, no call takes so long."""

BEGINNINGS = (
    *Arrival,
    What.PERSON_REPLAYS,
    What.REPLAYED_FOR_LINK,
    What.STATUS_MAP_CHANGED,
    What.TICKET_IS_BACK,
    What.PERSON_DECIDES,
)
"""Steps that begin an attempt."""

BAD = (
    What.PERHAPS_REFUSED_FOR,
    What.TEMPLATE_FAILED,
    What.CALL_UNANSWERED,
    What.DOUBT_HELD,
    What.ISSUE_WENT_AWAY,
    What.ISSUE_REPLACED,
)
STOPPED = (EventState.FAILED, EventState.ON_HOLD)
FEWEST_FOLDED = 2
"""Minimum number of consecutive probes that are folded."""


@dataclass(frozen=True, slots=True)
class Run:
    """Steps that are shown together.

    Attributes:
        steps: one step, or several probes, which are folded.
    """

    steps: Sequence[Step]

    @property
    def is_folded(self) -> bool:
        """Whether these are folded probes."""
        return len(self.steps) >= FEWEST_FOLDED


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to sync a ticket to Redmine.

    Attributes:
        steps: its steps, oldest first.
    """

    steps: Sequence[Step]

    @property
    def outcome(self) -> Step:
        """The step that shows the result: the last that stopped the attempt, else the last that is not a call."""
        told = [one for one in self.steps if one.call is None] or self.steps
        return next((one for one in reversed(told) if _stops(one)), told[-1])

    @property
    def is_bad(self) -> bool:
        """Whether something stopped it."""
        return _stops(self.outcome)

    @property
    def runs(self) -> list[Run]:
        """Its steps, with consecutive probes in one run."""
        found: list[Run] = []
        for are_probes, steps in groupby(self.steps, is_probe):
            together = list(steps)
            if are_probes and len(together) >= FEWEST_FOLDED:
                found.append(Run(together))
            else:
                found += [Run([one]) for one in together]
        return found


def attempts(steps: Sequence[Step]) -> list[Attempt]:
    """Group steps into attempts.

    Args:
        steps: steps of a ticket, oldest first.
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
    """Return whether a step is a successful call that only read something."""
    return step.call is not None and step.call.get("method") == "GET" and not is_bad(step)


def is_bad(step: Step) -> bool:
    """Return whether a step is a failure that the page highlights."""
    status = (step.call or {}).get("status")
    return step.code in BAD or (isinstance(status, int) and status >= 400)


def _begins(step: Step) -> bool:
    return step.code in BEGINNINGS


def _stops(step: Step) -> bool:
    ended = step.code == What.EVENTS_ENDED and step.notice.params.get("state") in STOPPED
    return ended or (step.code in BAD and step.code != What.PERHAPS_REFUSED_FOR)
