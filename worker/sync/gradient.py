"""How many calls at once the tracker takes: as many as do more than fewer would.

A call that is made while the tracker is busy with others waits there: nothing is done sooner for it, but whoever else
opens a page waits, too. So it is tried out: for a moment twice as many calls are made, or half as many, and what is
done in that time is compared with what was done just before. As long as twice as many do clearly more, the limit
doubles; where they do not, it is what the lower number was worth. What a call takes by itself need not be known, and
whatever else changes, with the hour or by what other people do there, changes both sides of the comparison.

What was done is counted by what it took before, since an issue is more work than a time entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from shared.codes.limits import CallLimitBy
from shared.coordination.call_limit import LEAST, Calls, Limit, Seen

MORE, ALL = 1 / 3, 0.75
"""Twice as many calls do clearly more with a gain of 2 ** MORE, and all that they could with one of 2 * ALL."""

SPARE = 1.1
"""Calls for each that the tracker is kept busy with: between two of them it would be idle."""

FIRST_AGAIN_S, LAST_AGAIN_S, SHARE = 5.0, 60.0, 20
"""What is tried again and changes nothing is tried ever more seldom; no more than one part in so many of the time."""


def adapted(limit: Limit, seen: Seen) -> Limit:
    """Return the limit after what was seen.

    Args:
        limit: before.
        seen: since then.
    """
    limit = replace(limit, tried_at=min(limit.tried_at, seen.now))
    if seen.wanted < limit.calls or not seen.calls:  # what was done is what there was to do
        return replace(limit, calls=limit.kept or limit.calls, kept=0.0, rate=0.0, settles=True)
    if limit.settles:
        return replace(limit, settles=False)
    if not limit.kept:
        return _tried(replace(limit, rate=_work(seen.calls, {}) / seen.seconds, took=_took(seen.calls)), seen)
    return _compared(limit, seen)


def _tried(limit: Limit, seen: Seen) -> Limit:
    """Return the limit with a trial begun, where it is time for one; what it is to be compared with is known."""
    most = float(min(seen.wanted, seen.bound))
    is_opening = limit.why is CallLimitBy.OPENING
    if not is_opening and seen.now - limit.tried_at < limit.again_s:
        return limit
    more, fewer = min(2 * limit.calls, most), max(limit.calls / 2, LEAST)
    calls = more if more > limit.calls and (is_opening or limit.more_next or fewer >= limit.calls) else fewer
    if calls == limit.calls:
        return replace(limit, why=CallLimitBy.BOUND if calls >= seen.bound else limit.why)
    tried_at, more_next = seen.now, calls < limit.calls
    return replace(limit, calls=calls, kept=limit.calls, settles=True, tried_at=tried_at, more_next=more_next)


def _compared(limit: Limit, seen: Seen) -> Limit:
    """Return the limit that a trial has found."""
    rate = _work(seen.calls, limit.took) / seen.seconds
    low, high = sorted((limit.calls, limit.kept))
    was_more = limit.calls == high
    ratio, gain = high / low, max(1.0, rate / limit.rate if was_more else limit.rate / rate)
    found = replace(limit, kept=0.0, gain=gain, settles=True)
    if was_more and gain >= ratio**MORE:  # and so may even more
        opened = replace(found, why=CallLimitBy.OPENING, settles=False, again_s=FIRST_AGAIN_S)
        return _tried(
            replace(opened, rate=_work(seen.calls, {}) / seen.seconds, took=_took(seen.calls)), seen
        )
    calls = high if gain >= ratio * ALL else max(LEAST, min(high, low * gain * SPARE))
    is_known = abs(calls - limit.kept) < limit.kept / 4
    again_s = FIRST_AGAIN_S
    if is_known:
        again_s = max(min(2 * limit.again_s, LAST_AGAIN_S), SHARE * (seen.now - limit.tried_at))
    why = CallLimitBy.BOUND if calls >= seen.bound else CallLimitBy.QUEUEING
    return replace(found, calls=calls, why=why, again_s=again_s)


def _took(calls: Calls) -> dict[str, float]:
    return {name: seconds / count for name, (count, seconds) in calls.items()}


def _work(calls: Calls, took: Mapping[str, float]) -> float:
    """Return how much was done: the seconds that it would have taken before."""
    return sum(count * took.get(name, seconds / count) for name, (count, seconds) in calls.items())
