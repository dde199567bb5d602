"""What a drill prints: progress lines, and a table at the end."""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from tests.drill.held import Judged
from tests.drill.inject import Tally
from tests.drill.supervisor import Supervised

MOST_SHOWN = 40
WIDTH = 38


@dataclass
class Outcome:
    """The result of a drill.

    Attributes:
        figures: numbers by name, in the order in which they are printed.
        differences: what was lost, done twice or wrong; if empty, the drill passed.
        traces: deskbridge's own history of the first tickets that differ.
    """

    tally: Tally
    figures: dict[str, str] = field(default_factory=dict)
    held: list[Judged] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)
    processes: list[Supervised] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing was lost or done twice, and nothing is on hold that deskbridge could have decided."""
        return not self.differences


class Teller:
    """Prints lines with the time since the start."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def say(self, what: str) -> None:
        """Print one line."""
        print(f"[{time.monotonic() - self._started:6.1f} s] {what}", flush=True)


def show(outcome: Outcome) -> None:
    """Print the table of faults, the figures, the items on hold, and the differences."""
    print(f"\n{'faults survived':{WIDTH}} {'injected':>8} {'hit':>8} {'targets':>8}")
    tally = outcome.tally
    for kind in sorted(tally.planned):
        print(f"{kind:{WIDTH}} {tally.planned[kind]:8} {tally.hit[kind]:8} {tally.targets[kind]:8}")
    totals = [counter.total() for counter in (tally.planned, tally.hit, tally.targets)]
    print(f"{'all':{WIDTH}} {totals[0]:8} {totals[1]:8} {totals[2]:8}\n")
    for name, figure in outcome.figures.items():
        print(f"{name:{WIDTH}} {figure}")
    for member in outcome.processes:
        print(f"{member.name:{WIDTH}} {_life(member)}")
    for rule, many in Counter(one.rule for one in outcome.held if one.rule).items():
        print(f"on hold, rightly: {many} × {rule}")
    for line in outcome.differences[:MOST_SHOWN]:
        print(f"  {line}", file=sys.stderr)
    if len(outcome.differences) > MOST_SHOWN:
        print(f"  … and {len(outcome.differences) - MOST_SHOWN} more", file=sys.stderr)
    for line in outcome.traces:
        print(line, file=sys.stderr)


def _life(member: Supervised) -> str:
    own = Counter(member.own_ends)
    ends = f", ended by itself: {', '.join(f'{n} × {code}' for code, n in own.items())}" if own else ""
    stuck = f", did not end after SIGTERM: {member.stuck} times" if member.stuck else ""
    return f"started again {member.restarts} times{ends}{stuck}"
