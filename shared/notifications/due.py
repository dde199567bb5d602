"""Decides for which causes a message is due. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from shared.notices.notice import Notice

AGAIN_AFTER = timedelta(hours=1)
"""At most one message is sent about a cause within this time."""
TOGETHER = timedelta(minutes=5)
"""At most one message is sent within this time: causes that appear in the meantime are in the next one."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A problem that people should know of.

    Attributes:
        key: identifies the cause as long as it lasts.
        what: the problem.
        path: path of the console page where it can be fixed.
        count: number of objects it concerns; if it grows, another message is due.
        after: how long it must last before it is reported.
    """

    key: str
    what: Notice
    path: str
    count: int = 1
    after: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Remembered:
    """The stored state of a cause.

    Attributes:
        since: when it began; None: it is gone.
        sent_at: when a message about it was last sent.
        count: the count that this message reported.
    """

    since: datetime | None
    sent_at: datetime | None = None
    count: int = 0


@dataclass(frozen=True, slots=True)
class Decision:
    """The causes to report now, and the states to store if the message is sent.

    Attributes:
        due: the causes of the next message; empty: no message is due.
        remembered: the new state of each cause by key; all other states are deleted.
    """

    due: Sequence[Cause]
    remembered: Mapping[str, Remembered]


def decide(
    now: datetime,
    causes: Sequence[Cause],
    before: Mapping[str, Remembered],
    *,
    unknown: Collection[str] = (),
    last_message: datetime | None = None,
) -> Decision:
    """Decide for which causes a message is due.

    A cause is reported when it has lasted long enough. It is reported again if its count has grown or if it came
    back, an hour after its last message at the earliest.

    Args:
        now: the time of the database's clock.
        causes: the current causes.
        before: the stored state of each cause by key.
        unknown: keys of causes that cannot be checked now; their states stay as they are.
        last_message: when a message was last sent.
    """
    may_send = last_message is None or now - last_message >= TOGETHER
    due: list[Cause] = []
    remembered: dict[str, Remembered] = {}
    for cause in causes:
        known = before.get(cause.key, Remembered(None))
        known = replace(known, since=known.since or now, count=min(known.count, cause.count))
        if may_send and _is_due(now, cause, known):
            due.append(cause)
            known = replace(known, sent_at=now, count=cause.count)
        remembered[cause.key] = known
    for key, known in before.items():
        if key in unknown:
            remembered.setdefault(key, known)
        elif key not in remembered and known.sent_at and now - known.sent_at < AGAIN_AFTER:
            remembered[key] = replace(known, since=None, count=0)
    return Decision(due, remembered)


def _is_due(now: datetime, cause: Cause, known: Remembered) -> bool:
    if known.since is None or now - known.since < cause.after:
        return False
    if known.sent_at is None:
        return True
    is_new = known.since > known.sent_at or cause.count > known.count
    return is_new and now - known.sent_at >= AGAIN_AFTER
