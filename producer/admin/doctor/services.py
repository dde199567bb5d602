"""Checks of the services that deskbridge needs, and of its own processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from redis.exceptions import RedisError
from sqlalchemy.exc import SQLAlchemyError

from producer.admin.doctor.checks import Group, QuickCheckMode, check, quick_check
from producer.admin.doctor.finding import CheckResult, failure, ok, warning
from producer.admin.doctor.installation import Installation
from producer.admin.migrations.upgrading import check_tables
from shared.diagnosis.other_workers import other_database
from shared.diagnosis.redis_facts import RedisFacts
from shared.diagnosis.redis_health import KEEPS_ALL
from shared.errors import SettingsError
from shared.notices.doctor_service import ServiceFinding
from shared.notices.doctor_setup import Named
from shared.notices.limits import CallLimitBy
from shared.notices.notice import Code, Notice
from shared.process.itself import release
from shared.redis.call_limits import published
from shared.redis.heartbeat import ALIVE_S, ProcessSign
from shared.redis.latency import SLOW_S
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
FEWEST_RESTARTS = 3
HINDRANCES = {
    "standby": ServiceFinding.DATABASE_STANDBY,
    "read only": ServiceFinding.DATABASE_READ_ONLY,
    "full": ServiceFinding.DATABASE_FULL,
    "file": ServiceFinding.DATABASE_FILE_READ_ONLY,
    "locked": ServiceFinding.DATABASE_LOCKED,
    "forbidden": ServiceFinding.DATABASE_FORBIDDEN,
}


@check(Group.SERVICES, {"database": "KB-SERVICE-001", "migrations": "KB-SERVICE-002"})
def database(installation: Installation) -> Iterator[CheckResult]:
    """Check that the database answers and has the schema of this version."""
    settings, name = installation.settings, installation.store.database.name
    try:
        schema.require_current(installation.store.database, loaded=settings.is_loaded)
        hindered = _hindrance(installation)
        if not hindered:
            check_tables(installation.store.database)
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
        if hindered:
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
    facts = installation.redis_facts
    if fault := facts.fault or facts.evicted:
        yield failure("redis", fault)
    elif facts.policy not in (None, KEEPS_ALL):
        yield warning("redis", ServiceFinding.REDIS_MAY_EVICT(policy=facts.policy))
    elif not facts.keeps_data:
        yield warning("redis", ServiceFinding.REDIS_KEEPS_NOTHING())
    else:
        yield ok("redis", ServiceFinding.REDIS_ANSWERS())


@quick_check(Group.SERVICES, "worker", QuickCheckMode.IN_REDIS)
def unable(installation: Installation) -> Iterator[CheckResult]:
    """Check that each live worker can decrypt the stored API key; if none can, nothing is sent."""
    alive, unable = _alive(installation.redis_facts.workers), _alive(installation.redis_facts.unable)
    result = failure if len(unable) >= len(alive) else warning
    for sign in unable:
        yield result(
            "worker", ServiceFinding.WORKER_CANNOT_OPEN_KEY(host=sign.process.host, pid=sign.process.pid)
        )


@quick_check(Group.SERVICES, "worker", QuickCheckMode.IN_REDIS)
def restarts(installation: Installation) -> Iterator[CheckResult]:
    """Check that no worker ends again and again soon after its start."""
    if ended := _restarts("worker", installation.redis_facts.workers, installation.redis_facts):
        yield ended


@check(Group.SERVICES, {"installation": "KB-SERVICE-003"}, glance=QuickCheckMode.IN_REDIS)
def others(installation: Installation) -> Iterator[CheckResult]:
    """Check that no other installation uses the same Redis database."""
    facts = installation.redis_facts
    if not facts.others:
        yield ok("installation", ServiceFinding.ALONE_IN_REDIS(installation=facts.installation))
        return
    named = [
        Named.OTHER_INSTALLATION(
            installation=other,
            host=sign.process.host if sign else None,
            seconds=sign.seconds if sign else None,
        )
        for other, sign in facts.others.items()
    ]
    about = {"installation": facts.installation, "count": len(named), "others": named}
    is_mistaken = other_database(facts) is not None  # then a Redis of its own would not help
    yield (ok if is_mistaken else warning)("installation", ServiceFinding.OTHERS_IN_REDIS(**about))


@check(Group.SERVICES, {"broker": "KB-SERVICE-004"})
def broker(installation: Installation) -> Iterator[CheckResult]:
    """Check that the broker accepts queue messages."""
    if installation.is_broker_answering():
        yield ok("broker", ServiceFinding.BROKER_ANSWERS())
    else:
        yield failure("broker", ServiceFinding.BROKER_UNREACHABLE())


@check(Group.SERVICES, {"worker": "KB-SERVICE-005"})
def worker(installation: Installation) -> Iterator[CheckResult]:
    """Check that a worker was alive recently, and can decrypt the stored API key."""
    facts = installation.redis_facts
    yield (
        _restarts("worker", facts.workers, facts)
        or _running("worker", facts.workers, ServiceFinding.WORKER_ALIVE)
        or failure(
            "worker", other_database(facts) or _missing(ServiceFinding.NO_WORKER, facts.workers, facts)
        )
    )
    yield from unable(installation)


@check(Group.SERVICES, {"beat": "KB-SERVICE-006"}, glance=QuickCheckMode.IN_REDIS)
def beat(installation: Installation) -> Iterator[CheckResult]:
    """Check that a beat was alive recently."""
    facts = installation.redis_facts
    yield (
        _restarts("beat", facts.beats, facts)
        or _running("beat", facts.beats, ServiceFinding.BEAT_ALIVE)
        or warning("beat", _missing(ServiceFinding.NO_BEAT, facts.beats, facts))
    )


@check(Group.SERVICES, {"console": "KB-SERVICE-009"})
def console(installation: Installation) -> Iterator[CheckResult]:
    """Check that a console was alive recently, if one is used."""
    consoles = installation.redis_facts.consoles
    if not consoles:
        yield ok("console", ServiceFinding.CONSOLE_NOT_USED())
        return
    missing = warning("console", ServiceFinding.NO_CONSOLE(**_last(consoles)))
    yield _running("console", consoles, ServiceFinding.CONSOLE_ALIVE) or missing


@check(Group.SERVICES, {"calls": "KB-TRACKER-008"})
def calls(installation: Installation) -> Iterator[CheckResult]:
    """Report how many calls each worker makes to the tracker at once, and why not more."""
    try:
        is_idle = installation.redis_facts.seconds_per_call is None
        found = [
            one
            for one in published(installation.redis)
            if not is_idle or one.limit.why is not CallLimitBy.OPENING  # then there are no response times
        ]
    except RedisError:
        return
    for worker, limit in ((one.process, one.limit) for one in found):
        about = {"host": worker.host, "pid": worker.pid, "count": limit.size, "because": limit.because}
        yield ok("calls", ServiceFinding.CALLS_AT_ONCE(**about))
    if not found:
        yield ok("calls", ServiceFinding.NO_CALLS_LATELY())


@check(Group.SERVICES, {"producer": "KB-SERVICE-008"}, glance=QuickCheckMode.ALWAYS)
def producer(installation: Installation) -> Iterator[CheckResult]:
    """Check that a producer was alive recently."""
    seen = installation.producers
    yield _running("producer", seen, ServiceFinding.PRODUCER_ALIVE) or failure(
        "producer", ServiceFinding.NO_PRODUCER(**_last(seen))
    )


Sign = TypeVar("Sign", ProcessSign, Producer)


def _alive(seen: Sequence[Sign]) -> list[Sign]:
    """Return the processes with a recent heartbeat."""
    return [sign for sign in seen if sign.seconds <= ALIVE_S]


def _running(check: str, seen: Sequence[Sign], found: Code) -> CheckResult | None:
    """Return an OK result if a process of a kind is alive, else None."""
    alive = _alive(seen)
    if not alive:
        return None
    process = alive[0].process
    about = {"host": process.host, "version": process.version, "since": process.since}
    return ok(check, found(count=len(alive), seconds=alive[0].seconds, **about))


def _restarts(check: str, seen: Sequence[ProcessSign], facts: RedisFacts) -> CheckResult | None:
    """Return a failure if processes of a kind end again and again soon after their start."""
    ended = facts.failed_starts(seen)
    if len(ended) < FEWEST_RESTARTS:
        return None
    hosts = sorted({sign.process.host for sign in ended})
    return failure(check, ServiceFinding.PROCESS_RESTARTS(count=len(ended), hosts=hosts))


def _missing(found: Code, seen: Sequence[ProcessSign], facts: RedisFacts) -> Notice:
    """Return that no process of a kind is alive, unless Redis may have evicted its heartbeat."""
    return facts.evicted if facts.evicted and not seen else found(**_last(seen))


def _last(seen: Sequence[ProcessSign | Producer]) -> dict[str, float]:
    return {"seconds": seen[0].seconds} if seen else {}


@check(Group.SERVICES, {"versions": "KB-SERVICE-002"})
def versions(installation: Installation) -> Iterator[CheckResult]:
    """Check that all live processes have this version: during an upgrade old ones still run."""
    facts = installation.redis_facts
    alive = [sign.process for sign in _alive(installation.producers)]
    for signs in (facts.workers, facts.beats, facts.consoles):
        alive += (sign.process for sign in _alive(signs))
    others = sorted({f"{one.host} {one.pid} ({one.version})" for one in alive if one.version != release()})
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
    alive = _alive(installation.redis_facts.workers)
    by_host = {sign.process.host: sign.ahead_s for sign in reversed(alive)}
    for host, ahead_s in by_host.items():
        if ahead_s is None or abs(ahead_s) <= CLOCK_WARNING_S:
            continue
        code = ServiceFinding.WORKER_CLOCK_AHEAD if ahead_s > 0 else ServiceFinding.WORKER_CLOCK_BEHIND
        result = failure if abs(ahead_s) > CLOCK_FAILURE_S else warning
        yield result("clock", code(host=host, seconds=abs(ahead_s)))


@check(Group.SERVICES, {"rate limit": "KB-TRACKER-008"}, glance=QuickCheckMode.IN_REDIS)
def rate_limit(installation: Installation) -> Iterator[CheckResult]:
    """Check that the workers' rate limit, or else this command's, is high enough for work to proceed."""
    found = installation.redis_facts.rate_limit
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
    seconds = installation.redis_facts.seconds_per_call
    if seconds and seconds > SLOW_S:
        yield warning("tracker", ServiceFinding.CALLS_SLOW(seconds=seconds))
