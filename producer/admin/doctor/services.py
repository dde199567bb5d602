"""Checks of the services that deskbridge needs, and of its own processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from producer.admin.doctor.checks import Group, QuickCheckMode, check, quick_check
from producer.admin.doctor.finding import CheckResult, failure, ok, warning
from producer.admin.doctor.installation import Installation
from producer.admin.presenters import redis_health as health
from producer.admin.presenters.evictions import KEEPS_ALL
from producer.admin.presenters.evictions import evictions as evictions_of
from producer.admin.presenters.evictions import policy as policy_of
from shared.errors import SettingsError
from shared.notices.doctor_service import ServiceFinding
from shared.notices.doctor_setup import Named
from shared.notices.notice import Code
from shared.process.itself import release
from shared.redis.call_limits import published
from shared.redis.heartbeat import ALIVE_S, BEAT, CONSOLE, WORKER, Heartbeats, ProcessSign
from shared.redis.latency import SLOW_S, seconds_per_call
from shared.redis.rate_limit import rate_limit_in_use
from shared.store.journal.producers import Producer
from shared.store.tables import schema
from shared.store.tables.database import words_of

CLOCK_WARNING_S = 5.0
SLOWEST_RATE = 1.0
"""Calls per second; a ticket needs several."""
CLOCK_FAILURE_S = 120.0
LATELY = timedelta(days=1)
LONGEST_ERROR = 200
MOST_NAMED = 10
HINDRANCES = {
    "standby": ServiceFinding.DATABASE_STANDBY,
    "read only": ServiceFinding.DATABASE_READ_ONLY,
    "full": ServiceFinding.DATABASE_FULL,
    "file": ServiceFinding.DATABASE_FILE_READ_ONLY,
}


@check(Group.SERVICES, {"database": "KB-SERVICE-001", "migrations": "KB-SERVICE-002"})
def database(installation: Installation) -> Iterator[CheckResult]:
    """Check that the database answers and has the schema of this version."""
    settings, name = installation.settings, installation.store.database.name
    try:
        schema.require_current(installation.store.database, loaded=settings.is_loaded)
    except SettingsError as due:
        if installation.store.database.missing_file is not None:
            yield failure("database", ServiceFinding.NO_DATABASE(problem=due.notice))
            return
        yield ok("database", ServiceFinding.DATABASE_ANSWERS(kind=_kind(installation), name=name))
        yield failure("migrations", ServiceFinding.MIGRATIONS_DUE(problem=due.notice))
    except SQLAlchemyError as error:
        yield _hindrance(installation) or failure(
            "database", ServiceFinding.DATABASE_UNREACHABLE(error=_cause(error))
        )
    else:
        if hindered := _hindrance(installation):
            yield hindered
            return
        if "database_url" in settings.model_fields_set:
            yield ok("database", ServiceFinding.DATABASE_ANSWERS(kind=_kind(installation), name=name))
        else:
            yield warning("database", ServiceFinding.DATABASE_OF_DEFAULT(file=name))
        yield ok("migrations", ServiceFinding.MIGRATIONS_CURRENT(revision=schema.HEAD))


def _hindrance(installation: Installation) -> CheckResult | None:
    """Return why no event can be committed, or None if nothing prevents it or the cause is unknown."""
    database = installation.store.database
    try:
        found = database.hindrance()
    except SQLAlchemyError:
        return None
    if found is None:
        return None
    return failure("database", HINDRANCES[found.kind](name=database.name, error=found.error))


@quick_check(Group.SERVICES, "database", QuickCheckMode.ALWAYS)
def writes(installation: Installation) -> Iterator[CheckResult]:
    """Check that an event can be committed now."""
    if not installation.store.database.takes_writes():
        yield from database(installation)


def _cause(error: SQLAlchemyError) -> str:
    """Return the first line of the driver's message, which tells a wrong password from a server that is down."""
    return words_of(error)[:LONGEST_ERROR]


def _kind(installation: Installation) -> str:
    name = installation.store.database.engine.dialect.name
    return {"sqlite": "SQLite", "postgresql": "PostgreSQL"}.get(name, name)


@check(Group.SERVICES, {"redis": "KB-SERVICE-003"}, glance=QuickCheckMode.IN_REDIS)
def redis(installation: Installation) -> Iterator[CheckResult]:
    """Check that Redis answers, and keeps what is written to it."""
    try:
        health.write(installation.redis)
        lost, policy = list(evictions(installation)), policy_of(installation.redis)
        keeps_data = health.keeps_data(installation.redis)
    except RedisError as error:
        yield failure("redis", health.why_not_written(installation.redis, error))
        return
    if lost:
        yield from lost
    elif policy not in (None, KEEPS_ALL):
        yield warning("redis", ServiceFinding.REDIS_MAY_EVICT(policy=policy))
    elif not keeps_data:
        yield warning("redis", ServiceFinding.REDIS_KEEPS_NOTHING())
    else:
        yield ok("redis", ServiceFinding.REDIS_ANSWERS())


@quick_check(Group.SERVICES, "worker", QuickCheckMode.IN_REDIS)
def unable(installation: Installation) -> Iterator[CheckResult]:
    """Check that each live worker can decrypt the stored API key; if none can, nothing is sent."""
    heartbeats = Heartbeats(installation.redis)
    try:
        alive = [one for one in heartbeats.seen(WORKER) if one.seconds <= ALIVE_S]
        found = [one for one in heartbeats.unable(WORKER) if one.seconds <= ALIVE_S]
    except RedisError:
        return
    for one in found:
        result = failure if len(found) >= len(alive) else warning
        yield result(
            "worker", ServiceFinding.WORKER_CANNOT_OPEN_KEY(host=one.process.host, pid=one.process.pid)
        )


@check(Group.SERVICES, {"installation": "KB-SERVICE-003"}, glance=QuickCheckMode.IN_REDIS)
def others(installation: Installation) -> Iterator[CheckResult]:
    """Check that no other installation uses the same Redis database."""
    try:
        here, found = Heartbeats(installation.redis).mine_and_others()
    except RedisError:
        return
    if not found:
        yield ok("installation", ServiceFinding.ALONE_IN_REDIS(installation=here))
        return
    named = [
        Named.OTHER_INSTALLATION(
            installation=one,
            host=sign.process.host if sign else None,
            seconds=sign.seconds if sign else None,
        )
        for one, sign in found.items()
    ]
    yield warning(
        "installation", ServiceFinding.OTHERS_IN_REDIS(installation=here, count=len(named), others=named)
    )


@check(Group.SERVICES, {"broker": "KB-SERVICE-004"})
def broker(installation: Installation) -> Iterator[CheckResult]:
    """Check that the broker accepts queue messages."""
    if installation.is_broker_answering():
        yield ok("broker", ServiceFinding.BROKER_ANSWERS())
    else:
        yield failure("broker", ServiceFinding.BROKER_UNREACHABLE())


@check(Group.SERVICES, {"worker": "KB-SERVICE-005", "beat": "KB-SERVICE-006", "console": "KB-SERVICE-009"})
def processes(installation: Installation) -> Iterator[CheckResult]:
    """Check that a worker and a beat were alive recently, and a console if one is used."""
    heartbeats = Heartbeats(installation.redis)
    try:
        workers, beats, consoles = (heartbeats.seen(kind) for kind in (WORKER, BEAT, CONSOLE))
    except RedisError:
        return
    lost = evictions_of(installation.redis)
    no_worker = ServiceFinding.NO_WORKER(**_last(workers)) if workers or not lost else lost
    no_beat = ServiceFinding.NO_BEAT(**_last(beats)) if beats or not lost else lost
    yield _alive("worker", workers, ServiceFinding.WORKER_ALIVE) or failure("worker", no_worker)
    yield from unable(installation)
    yield _alive("beat", beats, ServiceFinding.BEAT_ALIVE) or warning("beat", no_beat)
    if consoles:
        missing = warning("console", ServiceFinding.NO_CONSOLE(**_last(consoles)))
        yield _alive("console", consoles, ServiceFinding.CONSOLE_ALIVE) or missing
    else:
        yield ok("console", ServiceFinding.CONSOLE_NOT_USED())


def evictions(installation: Installation) -> Iterator[CheckResult]:
    """Check that Redis has evicted no key for lack of memory, so that its locks and heartbeats can be trusted."""
    try:
        lost = evictions_of(installation.redis)
    except RedisError:
        return
    if lost:
        yield failure("redis", lost)


@check(Group.SERVICES, {"calls": "KB-TRACKER-008"})
def calls(installation: Installation) -> Iterator[CheckResult]:
    """Report how many calls each worker makes to the tracker at once, and why not more."""
    try:
        found = published(installation.redis)
    except RedisError:
        return
    for worker, limit in ((one.process, one.limit) for one in found):
        about = {"host": worker.host, "pid": worker.pid, "count": limit.size, "because": limit.because}
        yield ok("calls", ServiceFinding.CALLS_AT_ONCE(**about))
    if not found:
        yield ok("calls", ServiceFinding.NO_CALLS_LATELY())


@check(Group.SERVICES, {"producer": "KB-SERVICE-008"})
def producer(installation: Installation) -> Iterator[CheckResult]:
    """Check that a producer was alive recently."""
    with installation.store.transaction() as tx:
        seen = tx.producers.seen()
    yield _alive("producer", seen, ServiceFinding.PRODUCER_ALIVE) or failure(
        "producer", ServiceFinding.NO_PRODUCER(**_last(seen))
    )


def _alive(check: str, seen: Sequence[ProcessSign | Producer], found: Code) -> CheckResult | None:
    """Return an OK result if a process of a kind is alive, else None."""
    alive = [one for one in seen if one.seconds <= ALIVE_S]
    if not alive:
        return None
    told = alive[0].process
    about = {"host": told.host, "version": told.version, "since": told.since}
    return ok(check, found(count=len(alive), seconds=alive[0].seconds, **about))


def _last(seen: Sequence[ProcessSign | Producer]) -> dict[str, float]:
    return {"seconds": seen[0].seconds} if seen else {}


@check(Group.SERVICES, {"versions": "KB-SERVICE-002"})
def versions(installation: Installation) -> Iterator[CheckResult]:
    """Check that all live processes have this version: during an upgrade old ones still run."""
    heartbeats = Heartbeats(installation.redis)
    with installation.store.transaction() as tx:
        seen: list[ProcessSign | Producer] = [*tx.producers.seen()]
    with suppress(RedisError):
        seen += (one for kind in (WORKER, BEAT, CONSOLE) for one in heartbeats.seen(kind))
    others = sorted(
        {
            f"{one.process.host} {one.process.pid} ({one.process.version})"
            for one in seen
            if one.seconds <= ALIVE_S and one.process.version != release()
        }
    )
    if others:
        named = others[:MOST_NAMED]
        about = {"version": release(), "count": len(others), "processes": named}
        yield warning("versions", ServiceFinding.VERSIONS_DIFFER(**about))
    else:
        yield ok("versions", ServiceFinding.VERSIONS_EQUAL(version=release()))


@check(Group.SERVICES, {"clock": "KB-SERVICE-007"})
def clocks(installation: Installation) -> Iterator[CheckResult]:
    """Check that the clocks of this machine, the database, the workers' machines and the tracker agree.

    The help desk's clock was wrong if it has dated events ahead.
    """
    yield from worker_clocks(installation)
    with installation.store.transaction() as tx:
        now = tx.now()
        clocks = [(Named.THE_DATABASE, now, datetime.now(UTC))]
        count, newest = tx.journal.dated_ahead(now - LATELY)
    if newest:
        minutes = (now - newest).total_seconds() / 60
        yield warning("clock", ServiceFinding.EVENTS_DATED_AHEAD(count=count, minutes=minutes))
    clocks += [(Named.THE_TRACKER, theirs, ours) for theirs, ours in installation.tracker_clocks[-1:]]
    apart = {name: abs((theirs - ours).total_seconds()) for name, theirs, ours in clocks}
    worst = max(apart, key=lambda name: apart[name])
    differ = ServiceFinding.CLOCKS_DIFFER(machine=worst(), seconds=apart[worst])
    if apart[worst] > CLOCK_FAILURE_S:
        yield failure("clock", differ)
    elif apart[worst] > CLOCK_WARNING_S:
        yield warning("clock", differ)
    else:
        yield ok(
            "clock", ServiceFinding.CLOCKS_AGREE(seconds=CLOCK_WARNING_S, machines=[one() for one in apart])
        )


@quick_check(Group.SERVICES, "clock", QuickCheckMode.IN_REDIS)
def worker_clocks(installation: Installation) -> Iterator[CheckResult]:
    """Check that the clock of each machine with a worker agrees with the database's."""
    try:
        workers = Heartbeats(installation.redis).seen(WORKER)
    except RedisError:
        return
    by_host = {one.process.host: one.ahead_s for one in reversed(workers) if one.seconds <= ALIVE_S}
    for host, ahead_s in by_host.items():
        if ahead_s is None or abs(ahead_s) <= CLOCK_WARNING_S:
            continue
        code = ServiceFinding.WORKER_CLOCK_AHEAD if ahead_s > 0 else ServiceFinding.WORKER_CLOCK_BEHIND
        result = failure if abs(ahead_s) > CLOCK_FAILURE_S else warning
        yield result("clock", code(host=host, seconds=abs(ahead_s)))


@check(Group.SERVICES, {"rate limit": "KB-TRACKER-008"}, glance=QuickCheckMode.IN_REDIS)
def rate_limit(installation: Installation) -> Iterator[CheckResult]:
    """Check that the workers' rate limit, or else this command's, is high enough for work to proceed."""
    try:
        found = rate_limit_in_use(installation.redis)
    except RedisError:
        return
    rate = found.rate if found else installation.settings.rate_limit
    if not rate:
        yield ok("rate limit", ServiceFinding.NO_RATE_LIMIT())
    elif rate < SLOWEST_RATE:
        seconds = found.wait_s if found and found.wait_s else None
        yield warning(
            "rate limit", ServiceFinding.RATE_LIMIT_LOW(rate=rate, hourly=rate * 3600, seconds=seconds)
        )
    else:
        yield ok("rate limit", ServiceFinding.RATE_LIMIT_KEPT(rate=rate))


@quick_check(Group.SERVICES, "tracker", QuickCheckMode.IN_REDIS, only=(ServiceFinding.CALLS_SLOW,))
def slowness(installation: Installation) -> Iterator[CheckResult]:
    """Check that the workers' calls have not been slow recently."""
    try:
        seconds = seconds_per_call(installation.redis)
    except RedisError:
        return
    if seconds and seconds > SLOW_S:
        yield warning("tracker", ServiceFinding.CALLS_SLOW(seconds=seconds))
