"""Which causes a message is due about. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from shared.notices.notice import Notice

AGAIN_AFTER = timedelta(hours=1)
"""At most one message is sent about a cause within this time."""
TOGETHER = timedelta(minutes=5)
"""At most one message is sent within this time: whatever appears in the meantime is in the next one."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Something that people should know of.

    Attributes:
        key: names the cause; the same for as long as it is the same cause.
        what: what is wrong.
        path: the page of the console that fixes it.
        count: how many things it is about; if it grows, another message is due.
        after: for how long it must last before it is reported.
    """

    key: str
    what: Notice
    path: str
    count: int = 1
    after: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is known of a cause from before.

    Attributes:
        since: since when it is there; None: it is gone.
        sent_at: when a message about it was last sent.
        count: how much of it that message reported.
    """

    since: datetime | None
    sent_at: datetime | None = None
    count: int = 0


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be sent, and what is to be remembered if it is sent.

    Attributes:
        due: the causes of the next message; empty: no message is due.
        remembered: what is known of every cause then; the others are forgotten.
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
    """Decide which causes a message is due about.

    A cause is reported once it has lasted long enough, and again if more of it has come or if it went away and
    came back, in each case an hour after its last message at the earliest.

    Args:
        now: the database's clock.
        causes: those that are there.
        before: what is known of each cause from before.
        unknown: keys of causes of which it cannot be known now whether they are there; they stay as they are.
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
