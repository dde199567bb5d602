"""What is still to be done, and what waits for a person."""

from __future__ import annotations

from collections.abc import Iterator

from redis.exceptions import RedisError

from producer.admin.doctor.finding import Finding, failure, ok, warning
from producer.admin.doctor.patient import Patient
from shared.coordination.pause import Pause
from shared.store.models import EventState

SLOW_S = 120.0
STUCK_S = 3600.0


def pending(patient: Patient) -> Iterator[Finding]:
    """Nothing has waited for long."""
    with patient.store.transaction() as tx:
        oldest, count, now = (
            tx.journal.oldest(EventState.PENDING),
            tx.journal.count(EventState.PENDING),
            tx.now(),
        )
    if oldest is None:
        yield ok("pending", "nothing waits")
        return
    age = (now - oldest.received_at).total_seconds()
    told = f"{count} events wait, the oldest for {age:.0f} s: {_reason(patient) or oldest.reason or 'no reason known'}"
    todo = f"`deskbridge trace {oldest.ticket_id}` tells what it waits for"
    if age > STUCK_S:
        yield failure("pending", told, todo)
    elif age > SLOW_S:
        yield warning("pending", told, todo)
    else:
        yield ok("pending", told)


def held(patient: Patient) -> Iterator[Finding]:
    """Nothing waits for a person."""
    with patient.store.transaction() as tx:
        count = len(tx.issues.waiting_for_a_person()) + len(tx.times.waiting_for_a_person())
    if count:
        yield warning("held", f"{count} issues or time entries wait for a person", "`deskbridge held`")
    else:
        yield ok("held", "nothing waits for a person")


def failed(patient: Patient) -> Iterator[Finding]:
    """Nothing was refused."""
    with patient.store.transaction() as tx:
        count = tx.journal.count(EventState.FAILED)
    if count:
        todo = "`deskbridge events --state failed`, mend the cause, `deskbridge replay --state failed`"
        yield warning("failed", f"{count} events failed", todo)
    else:
        yield ok("failed", "no event failed")


def recovery(patient: Patient) -> Iterator[Finding]:
    """Nobody has forgotten that a backup was restored."""
    with patient.store.transaction() as tx:
        mode = tx.recovery.get()
    if mode is None:
        yield ok("recovery", "off: creations are sent without asking the tracker first")
    else:
        what = f"on since {mode.began_at:%Y-%m-%d %H:%M} UTC: the tracker is asked before each creation"
        yield warning("recovery", what, "`deskbridge recover --end` once everything was sent again")


def _reason(patient: Patient) -> str | None:
    """Return why everything is paused, None where it is not."""
    try:
        paused = Pause(patient.redis).current()
    except RedisError:
        return None
    return f"paused, {paused.reason}" if paused else None


CHECKS = (pending, held, failed, recovery)
