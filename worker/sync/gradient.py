"""How many calls at once the tracker takes: as many as it answers side by side, and a few that wait within it.

A call that is made while the tracker is busy with others waits there: it takes longer than one made alone, and nothing
is done sooner for it, but whoever else opens a page waits, too. So what calls take alone is known (`bases`), and the
limit follows how much longer they take together. As long as that is hardly longer, the limit doubles; else it moves
halfway to where a few of them wait, which keeps the tracker from being idle. Calls differ, so what is a quarter longer
may be chance.

What calls take alone changes, and can only be seen alone. So calls are made one at a time for a moment, now and then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from shared.codes.limits import CallLimitBy
from shared.coordination.call_limit import ENOUGH, FEW, Calls, Limit, Seen

LEAST = 3.0
"""Fewer would make every tracker slower, and one call that hangs would hold up too many others."""

QUEUED = 1.75
"""Calls that wait within the tracker, beside what may be chance."""

CHANCE = 1.25
"""Calls that take so much longer than alone are not taken to wait for others."""

MEASURED_EVERY_S = 300.0
SOON_S = 10.0
"""Where hardly any of what is called has ever been seen alone, it is measured sooner."""

KNOWN = 0.25
MEASURED_FOR_S, LONGEST_S = 3.0, 20.0
"""How long calls are made one at a time, unless it is seen sooner what they take; five times that at most."""

KNOWN_ALONE, KNOWN_TOGETHER = 2, 100
"""What is known of calls alone weighs as much as so many that are seen alone by chance, or together and shorter."""


def adapted(limit: Limit, seen: Seen) -> Limit:
    """Return the limit after what was seen.

    Args:
        limit: before.
        seen: since then.
    """
    limit = replace(limit, measured_at=min(limit.measured_at, seen.now))
    if limit.why is CallLimitBy.MEASURING:
        return _measured(limit, seen)
    known = {name: one for name, one in seen.calls.items() if name in limit.bases}
    is_strange = _count(known) < KNOWN * _count(seen.calls)
    if seen.now - limit.measured_at > (SOON_S if is_strange else MEASURED_EVERY_S):
        measuring, now = CallLimitBy.MEASURING, seen.now
        return replace(limit, calls=1.0, why=measuring, before=limit.calls, measured_at=now)
    if not known:
        return limit
    alone = sum(count * limit.bases[name] for name, (count, _) in known.items())
    slower = max(1.0, sum(seconds for _, seconds in known.values()) / alone)
    none_wait = slower <= CHANCE
    calls = 2 * limit.calls if none_wait else (limit.calls + limit.calls * CHANCE / slower + QUEUED) / 2
    if seen.wanted <= limit.calls or 2 * seen.most < limit.calls:  # more would be of no use
        calls = min(calls, limit.calls)
    bases = _bases(limit.bases, seen)
    return replace(_bounded(limit, calls, seen.bound, none_wait=none_wait), slower=slower, bases=bases)


def _bounded(limit: Limit, calls: float, bound: int, *, none_wait: bool) -> Limit:
    calls = min(max(LEAST, calls), max(1, bound))
    if calls >= bound:
        return replace(limit, calls=calls, why=CallLimitBy.BOUND)
    return replace(limit, calls=calls, why=CallLimitBy.OPENING if none_wait else CallLimitBy.QUEUEING)


def _measured(limit: Limit, seen: Seen) -> Limit:
    """Return the limit as it was, once it is known what calls take alone."""
    began = limit.measured_at or seen.now
    limit = replace(limit, measured_at=began, bases=_bases(limit.bases, seen, known_alone=0))
    longest = max((seconds / count for count, seconds in seen.calls.values()), default=0.0)
    lasted, is_alone = seen.now - began, seen.most <= 1
    is_known = is_alone and (_count(seen.calls) >= FEW or lasted >= MEASURED_FOR_S)
    if not is_known and lasted < max(MEASURED_FOR_S, min(LONGEST_S, 5 * longest)):
        return limit
    return replace(_bounded(limit, limit.before, seen.bound, none_wait=not limit.before), before=0.0)


def _count(calls: Calls) -> int:
    return sum(count for count, _ in calls.values())


def _bases(bases: Mapping[str, float], seen: Seen, known_alone: int = KNOWN_ALONE) -> dict[str, float]:
    """Return what calls take alone: as just seen, or less where they take less together."""
    found = dict(bases)
    for name, (count, seconds) in seen.calls.items():
        took = seconds / count
        if seen.most <= 1:
            before = found.get(name, took)
            found[name] = before + (took - before) * count / (count + known_alone)
        elif name in found and count >= ENOUGH and took * CHANCE < found[name]:
            found[name] += (took - found[name]) * count / (count + KNOWN_TOGETHER)
    return found
