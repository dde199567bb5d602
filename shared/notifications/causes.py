"""Looks up the current causes for notifications."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.diagnosis.redis_facts import RedisFacts
from shared.notices.notice import Notice, codes_in
from shared.notices.notifications import Told
from shared.notices.render import pattern, sentence
from shared.notifications.due import Cause
from shared.store.journal.causes import FailureCause

AWAY_MINUTES = 5
RESTART = timedelta(minutes=1)
"""Time without a worker after which it is reported."""
GAP = "…"
GAPS = re.compile(r"…+( \(…\))?")
FEWEST_WORDS = 3
FAILED, ON_HOLD, REDMINE = "failed", "on_hold", "redmine"
WORKER_GONE, REDIS, QUIET = "worker", "redis", "quiet"
IN_REDIS = (REDMINE, WORKER_GONE)
"""Causes that are unknown while Redis cannot be used."""
DOCTOR, DECISIONS, EVENTS = "/console/doctor", "/console/held", "/console/events"


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of the installation.

    Attributes:
        failures: the causes of failures.
        on_hold: how many creations are on hold.
        waiting: how many events wait.
        newest: when the newest event came in; None: there is none.
        quiet: time without events after which that is reported.
        redis: what Redis knows.
    """

    now: datetime
    failures: Collection[FailureCause]
    on_hold: int
    waiting: int
    newest: datetime | None
    quiet: timedelta
    redis: RedisFacts


def causes(standing: Standing) -> Iterator[Cause]:
    """Yield the current causes, the most urgent first.

    Args:
        standing: the state of the installation.
    """
    yield from _of_redis(standing)
    for one in standing.failures:
        reason = in_general(one.notice)
        what = Told.EVENTS_FAILED(count=one.count, reason=reason)
        page = f"{EVENTS}?state=failed&cause={one.cause}"
        yield Cause(f"{FAILED}:{one.cause}", what, page, one.count)
    if standing.on_hold:
        yield Cause(ON_HOLD, Told.ON_HOLD(count=standing.on_hold), DECISIONS, standing.on_hold)
    if standing.newest and standing.now - standing.newest > standing.quiet:
        hours = standing.quiet.total_seconds() / 3600
        yield Cause(QUIET, Told.NO_EVENTS(hours=hours), DOCTOR)


def _of_redis(standing: Standing) -> Iterator[Cause]:
    facts = standing.redis
    if facts.fault:
        yield Cause(
            REDIS,
            Told.REDIS_AWAY(reason=in_general(Notice(facts.fault.code))),
            DOCTOR,
            after=timedelta(minutes=AWAY_MINUTES),
        )
        return
    if not facts.works:
        yield Cause(WORKER_GONE, Told.NO_WORKER(), DOCTOR, after=RESTART)
    if facts.paused and standing.waiting:
        what = Told.REDMINE_AWAY(minutes=AWAY_MINUTES, reason=in_general(facts.paused.reason))
        yield Cause(REDMINE, what, DOCTOR, after=timedelta(minutes=AWAY_MINUTES))


def in_general(notice: Notice) -> str:
    """Return the sentence of a notice without its parameters: no name, number or text leaves the installation.

    Args:
        notice: a reason; if it contains another notice, that one's sentence is used, as it tells more. Of a reason from
            Redis, to which other programs may write, nothing but a code of this version is used.
    """
    code, *within = codes_in(notice)
    texts = [text for one in within if _has_words(text := pattern(one)[0])]
    text = texts[0] if texts else pattern(code)[0] or sentence(Told.CAUSE_UNKNOWN())
    head = text.partition(GAP)[0].rstrip(" :,;(–“#")
    return head if _has_words(head) else GAPS.sub(GAP, text.partition(";")[0])


def _has_words(text: str) -> bool:
    return sum(any(map(str.isalpha, word)) for word in text.split()) >= FEWEST_WORDS
