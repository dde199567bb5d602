"""How many calls at once the tracker takes: as many as do more than fewer would.

A call that is made while the tracker is busy with others waits there: nothing is done sooner for it, but whoever else
opens a page waits, too. So it is tried out: for a moment twice as many calls are made, or half as many, and what is
done in that time is compared with what was done just before. As long as twice as many do clearly more, the limit
doubles; where they do not, it is what the lower number was worth. What a call takes by itself need not be known, and
whatever else changes, with the hour or by what other people do there, changes both sides of the comparison.

Where so much is done that our own work counts, calls that take hardly longer are enough, or that are over in a moment
all the same: none of them waits there, or nobody notices, and what more tickets share costs less. And where they take
much longer or shorter from one moment to the next, the number is tried again at once. With fewer calls a second chance
would often look like either.

What was done is counted by what it took before, since an issue is more work than a time entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from shared.codes.limits import CallLimitBy
from shared.redis.concurrency_limit import LEAST, Calls, Limit, Seen
from shared.tracker.meter import LOST

MORE, ALL = 1 / 3, 1 / 2
"""Where n times as many calls do n ** MORE times as much, even more are tried; with n ** ALL none are given up."""

LITTLE = 1.5
"""So few times as many, up to all that may be, are not worth a comparison that may be chance."""

IDLE = 1.5
"""With fewer calls under way on average the tracker waits for us, and more of them share our own work."""

LONGER = 1 / 3
"""Where n times as many calls take less than n ** LONGER times as long, hardly one waits there for another."""

A_MOMENT_S = 0.01
"""What takes no longer, its waiting included, delays no page so that a person would notice."""

MANY_A_SECOND = 100
"""With fewer calls a second our own work does not count. A Redmine of one process answers about thirty."""

SPARE = 1.1
"""Calls for each that the tracker is kept busy with: between two of them it would be idle."""

COMPARABLE_S = 10.0
"""What lies further apart than a few trials is not compared."""

NO_MORE = 1.07
"""Where twice as many do not even so many times as much, half as many may do all of it: that is tried next."""

AGAIN_S, SHARE, LAST_AGAIN_S = 5.0, 20, 60.0
"""Seconds until something is tried again; after a trial that left no doubt, so many times as long as it took, and
always the longest where the limit is all that the workers can make: it could only be found that fewer would do."""

NEARLY_ALL, CREDIBLE, NEEDED_AGAIN_S = 0.9, 1.2, 600.0
"""Where n times as many of all that the workers can make do n ** NEARLY_ALL times as much, none waits for another; more
than n ** CREDIBLE times was somebody else's doing. So long nothing needs to be tried, or until calls take longer than
they did then, or less long, or get no answer, or are mostly other ones."""

AS_LONG = 1.25
"""So many times as long, or as short, is as long as before: what that many calls take by chance, and less than would
make fewer of them do as much."""

SUDDENLY = 1.5
"""Where calls take so many times as long as just before, or as short, what was found may hold no more."""


def adapted(limit: Limit, seen: Seen) -> Limit:
    """Return the limit after what was seen.

    Args:
        limit: before.
        seen: since then.
    """
    limit = replace(limit, tried_at=min(limit.tried_at, seen.now))
    if not (seen.wanted and _answered(seen)):  # whoever comes back to work first knows of nobody else yet
        return _put_off(limit, seen)
    most = max(LEAST, seen.bound)
    if max(limit.calls, limit.kept) > most:  # of workers that are gone
        calls = min(limit.kept or limit.calls, most)
        why = CallLimitBy.BOUND if calls >= most else limit.why
        return replace(limit, calls=calls, kept=0.0, settles=True, why=why)
    if seen.wanted < limit.calls:  # what was done is what there was to do
        return _put_off(limit, seen)
    if limit.settles:
        return replace(limit, settles=False)
    if not limit.kept:
        return _tried(limit, seen)
    return _compared(limit, seen)


def _put_off(limit: Limit, seen: Seen) -> Limit:
    """Return the limit with its trial going on with the next calls, if they come soon enough to be compared.

    That many short times of much to do open it, too; a verdict against it such a trial does not give.
    """
    if limit.kept and seen.now - limit.tried_at < COMPARABLE_S:
        return replace(limit, settles=True, resumed=True)
    return replace(limit, calls=limit.kept or limit.calls, kept=0.0, rate=0.0, settles=True)


def _tried(limit: Limit, seen: Seen) -> Limit:
    """Return the limit with what was done by it, and with a trial begun where it is time for one."""
    took = {name: seconds / count for name, (count, seconds) in _answered(seen).items()}
    longer = _longer(seen, limit.took)
    is_sudden = _are_many(seen) and not 1 / SUDDENLY < longer < SUDDENLY
    if limit.again_s > LAST_AGAIN_S:
        if not (_are_known(seen, limit.took) and 1 / AS_LONG < longer < AS_LONG):
            # some calls were of before: the next ones are compared
            return replace(limit, again_s=AGAIN_S if is_sudden else LAST_AGAIN_S, took=took)
        took = {**took, **limit.took}  # so that many small changes are one
    elif is_sudden:
        limit = replace(limit, again_s=AGAIN_S, more_next=True)
    limit = replace(limit, rate=_rate(seen, took), took=took)
    most, is_idle = float(min(seen.wanted, seen.bound)), _under_way(seen) < IDLE
    more, fewer = min(_more(limit, seen), most), max(limit.calls // 2, LEAST)
    # also where it was all that the workers could make, and more of them have come
    is_opening = more > limit.calls and (limit.why is not CallLimitBy.QUEUEING or is_idle)
    calls = limit.calls
    if is_opening or seen.now - limit.tried_at >= limit.again_s:
        prefers_more = is_opening or limit.more_next or fewer >= limit.calls
        calls = more if more > limit.calls and prefers_more else fewer
    if calls == limit.calls or (calls < limit.calls and is_idle):
        return replace(limit, why=CallLimitBy.BOUND if limit.calls >= seen.bound else limit.why)
    return replace(limit, calls=calls, kept=limit.calls, settles=True, tried_at=seen.now)


def _more(limit: Limit, seen: Seen) -> float:
    """Return how many more are to be tried: twice as many, or as many as are over in half a moment one by one."""
    in_half = limit.calls * A_MOMENT_S / 2 // _mean(seen, {}) if _are_many(seen) else 0.0
    return max(2 * limit.calls, in_half)


def _compared(limit: Limit, seen: Seen) -> Limit:
    """Return the limit that a trial has found."""
    rate = _rate(seen, limit.took)
    low, high = sorted((limit.calls, limit.kept))
    was_more = limit.calls == high
    ratio, gain = high / low, max(1.0, rate / limit.rate if was_more else limit.rate / rate)
    found = replace(limit, kept=0.0, gain=gain, settles=True, resumed=False)
    longer = _longer(seen, limit.took) ** (1 if was_more else -1)
    with_more = _mean(seen, {} if was_more else limit.took)
    none_waits = _are_many(seen) and (longer < ratio**LONGER or with_more < A_MOMENT_S)
    is_more = gain >= ratio**MORE or ratio < LITTLE or _under_way(seen) < IDLE or none_waits
    if was_more and is_more:  # and so may even more
        return _tried(replace(found, why=CallLimitBy.OPENING, settles=False, more_next=True), seen)
    if limit.resumed:  # what was before may have been different
        again_s = LAST_AGAIN_S if limit.kept >= seen.bound else AGAIN_S
        return replace(found, calls=limit.kept, again_s=again_s)
    is_no_more = was_more and gain < NO_MORE
    worth = low if is_no_more else low * gain * (1 if was_more else SPARE)
    calls = high if gain >= ratio**ALL or none_waits else max(LEAST, min(high, round(worth)))
    is_as_before = calls == limit.kept
    why = CallLimitBy.BOUND if calls >= seen.bound else CallLimitBy.QUEUEING
    again_s = AGAIN_S
    if is_as_before and not (is_no_more and calls > LEAST):
        later = LAST_AGAIN_S if why is CallLimitBy.BOUND else SHARE * (seen.now - limit.tried_at)
        again_s = min(max(AGAIN_S, later), LAST_AGAIN_S)
        if why is CallLimitBy.BOUND and not was_more and ratio**NEARLY_ALL <= gain <= ratio**CREDIBLE:
            again_s = NEEDED_AGAIN_S
    return replace(
        found,
        calls=calls,
        why=why,
        took=limit.took if is_as_before else {},
        again_s=again_s,
        more_next=was_more != is_as_before,
    )


def _answered(seen: Seen) -> Calls:
    return {name: one for name, one in seen.calls.items() if name != LOST}


def _under_way(seen: Seen) -> float:
    """Return how many calls were under way on average, those that got no answer among them."""
    return sum(seconds for _, seconds in seen.calls.values()) / seen.seconds


def _are_many(seen: Seen) -> bool:
    """Tell whether so much is done that our own work counts, and nothing waits for an answer that does not come."""
    answered = sum(count for count, _ in _answered(seen).values())
    return answered >= MANY_A_SECOND * seen.seconds and LOST not in seen.calls


def _are_known(seen: Seen, took: Mapping[str, float]) -> bool:
    """Tell whether all were answered, and most of their time went to calls of which it is known what they took."""
    known = sum(seconds for name, (_, seconds) in seen.calls.items() if name in took)
    return LOST not in seen.calls and 2 * known >= sum(seconds for _, seconds in seen.calls.values())


def _mean(seen: Seen, took: Mapping[str, float]) -> float:
    """Return how many seconds a call that was answered took, or one of its kind before."""
    return _rate(seen, took) * seen.seconds / sum(count for count, _ in _answered(seen).values())


def _longer(seen: Seen, took: Mapping[str, float]) -> float:
    """Return how many times as long calls take as they took before; what was not called then does not count."""
    calls = {name: one for name, one in _answered(seen).items() if name in took}
    before = sum(count * took[name] for name, (count, _) in calls.items())
    return sum(seconds for _, seconds in calls.values()) / before if calls else 1.0


def _rate(seen: Seen, took: Mapping[str, float]) -> float:
    """Return how much was done each second: the seconds that it took before."""
    calls = _answered(seen).items()
    return sum(count * took.get(name, seconds / count) for name, (count, seconds) in calls) / seen.seconds
