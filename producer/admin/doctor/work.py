"""What is still to be done, and what waits for a person."""

from __future__ import annotations

from collections.abc import Iterator

from redis.exceptions import RedisError

from producer.admin.doctor.finding import CheckResult, failure, ok, warning
from producer.admin.doctor.installation import Installation
from shared.codes.coded import Coded
from shared.codes.findings import Finding
from shared.coordination.pause import Pause
from shared.store.models import EventState

SLOW_S = 120.0
STUCK_S = 3600.0


def pending(installation: Installation) -> Iterator[CheckResult]:
    """No event has waited for long."""
    with installation.store.transaction() as tx:
        oldest, count, now = (
            tx.journal.oldest(EventState.PENDING),
            tx.journal.count(EventState.PENDING),
            tx.now(),
        )
    if oldest is None:
        yield ok("pending", Finding.NOTHING_PENDING())
        return
    age = (now - oldest.received_at).total_seconds()
    why = _reason(installation) or oldest.coded
    waiting = Finding.EVENTS_PENDING(count=count, seconds=age, why=why, ticket_id=oldest.ticket_id)
    if age > STUCK_S:
        yield failure("pending", waiting)
    elif age > SLOW_S:
        yield warning("pending", waiting)
    else:
        yield ok("pending", waiting)


def held(installation: Installation) -> Iterator[CheckResult]:
    """Nothing waits for a person."""
    with installation.store.transaction() as tx:
        count = len(tx.issues.waiting_for_a_person()) + len(tx.times.waiting_for_a_person())
        lost = tx.journal.count_held_for_nothing()
    if lost:
        yield failure("held", Finding.HELD_FOR_NOTHING(count=lost))
    if count:
        yield warning("held", Finding.ROWS_HELD(count=count))
    elif not lost:
        yield ok("held", Finding.NOTHING_HELD())


def failed(installation: Installation) -> Iterator[CheckResult]:
    """Nothing was refused."""
    with installation.store.transaction() as tx:
        count = tx.journal.count(EventState.FAILED)
    if count:
        yield warning("failed", Finding.EVENTS_FAILED(count=count))
    else:
        yield ok("failed", Finding.NOTHING_FAILED())


def authors(installation: Installation) -> Iterator[CheckResult]:
    """Nothing went out in another's name."""
    with installation.store.transaction() as tx:
        count = tx.misattributed.count()
    if count:
        yield warning("authors", Finding.AUTHORS_WRONG(count=count))
    else:
        yield ok("authors", Finding.AUTHORS_RIGHT())


def recovery(installation: Installation) -> Iterator[CheckResult]:
    """Nobody has forgotten that a backup was restored."""
    with installation.store.transaction() as tx:
        mode = tx.recovery.get()
    if mode is None:
        yield ok("recovery", Finding.RECOVERY_OFF())
    else:
        yield warning("recovery", Finding.RECOVERY_ON(since=f"{mode.began_at:%Y-%m-%d %H:%M} UTC"))


def _reason(installation: Installation) -> Coded | None:
    """Return why everything is paused, None where it is not."""
    try:
        paused = Pause(installation.redis).current()
    except RedisError:
        return None
    return Finding.EVERYTHING_PAUSED(because=paused.reason) if paused else None


CHECKS = (pending, held, failed, authors, recovery)
