"""How many calls at once the tracker takes: as many as it answers side by side, and a few that wait within it.

A call that is made while the tracker is busy with others waits there: it takes longer than one made alone, and nothing
is done sooner for it, but whoever else opens a page waits, too. So what calls take alone is known (`bases`), and the
limit follows how much longer they take together. As long as that is hardly longer, the limit doubles; else it moves
halfway to where a few of them wait, which keeps the tracker from being idle. Calls differ, so what is a quarter longer
may be chance.

What calls take alone changes, and can only be seen alone. So a limit that is held down by it is given up for a moment,
now and then, and calls are made one at a time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from shared.codes.limits import CallLimitBy
from shared.coordination.call_limit import ENOUGH, FEW, Limit, Seen

QUEUED = 1.75
"""Calls that wait within the tracker, beside what may be chance."""

CHANCE = 1.25
"""Calls that take so much longer than alone are not taken to wait for others."""

MEASURED_EVERY_S = 60.0
SOON_S = 10.0
"""Where hardly any of what is called has ever been seen alone, it is measured sooner."""

KNOWN = 0.25
MEASURED_FOR_S = 3.0
"""Calls that are not answered by then were not alone, or take that long: it goes on as before."""

FIRST = 2.0
KNOWN_ALONE, KNOWN_TOGETHER = 2, 100
"""What is known of calls alone weighs as much as so many that are seen alone, or together and shorter."""


def adapted(limit: Limit, seen: Seen) -> Limit:
    """Return the limit after what was seen.

    Args:
        limit: before.
        seen: since then.
    """
    if limit.why is CallLimitBy.MEASURING:
        return _measured(limit, seen)
    known = {name: one for name, one in seen.calls.items() if name in limit.bases}
    is_strange = _count(known) < KNOWN * _count(seen.calls)
    every = SOON_S if is_strange else MEASURED_EVERY_S if limit.why is CallLimitBy.QUEUEING else math.inf
    if seen.now - limit.measured_at > every:
        return replace(limit, calls=1.0, why=CallLimitBy.MEASURING, before=limit.calls, measured_at=seen.now)
    if not known:
        return limit
    alone = sum(count * limit.bases[name] for name, (count, _) in known.items())
    slower = max(1.0, sum(seconds for _, seconds in known.values()) / alone)
    none_wait = slower <= CHANCE
    calls = 2 * limit.calls if none_wait else (limit.calls + limit.calls * CHANCE / slower + QUEUED) / 2
    if seen.wanted <= limit.calls:  # nobody waits for more
        calls = min(calls, limit.calls)
    calls = max(1.0, min(calls, seen.bound))
    why = (
        CallLimitBy.BOUND
        if calls >= seen.bound
        else CallLimitBy.OPENING
        if none_wait
        else CallLimitBy.QUEUEING
    )
    return replace(limit, calls=calls, why=why, slower=slower, bases=_bases(limit.bases, seen))


def _measured(limit: Limit, seen: Seen) -> Limit:
    """Return the limit as it was, once it is known what calls take alone."""
    began = limit.measured_at or seen.now
    limit = replace(limit, measured_at=began, bases=_bases(limit.bases, seen))
    is_known = seen.most <= 1 and _count(seen.calls) >= FEW
    if not is_known and seen.now - began < MEASURED_FOR_S:
        return limit
    calls = max(1.0, min(limit.before or FIRST, seen.bound))
    return replace(
        limit, calls=calls, why=CallLimitBy.QUEUEING if limit.before else CallLimitBy.OPENING, before=0.0
    )


def _count(calls: Mapping[str, tuple[int, float]]) -> int:
    return sum(count for count, _ in calls.values())


def _bases(bases: Mapping[str, float], seen: Seen) -> dict[str, float]:
    """Return what calls take alone: as just seen, or less where they take less together."""
    found = dict(bases)
    for name, (count, seconds) in seen.calls.items():
        took = seconds / count
        if seen.most <= 1:
            before = found.get(name, took)
            found[name] = before + (took - before) * count / (count + KNOWN_ALONE)
        elif name in found and count >= ENOUGH and took * CHANCE < found[name]:
            found[name] += (took - found[name]) * count / (count + KNOWN_TOGETHER)
    return found
