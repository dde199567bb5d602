"""The services that deskbridge stands on, and its own processes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from redis.exceptions import RedisError, ResponseError
from sqlalchemy.exc import SQLAlchemyError

from producer.admin.doctor.finding import Finding, failure, ok, warning
from producer.admin.doctor.patient import Patient
from shared.coordination.presence import BEAT, WORKER, Presence
from shared.errors import SettingsError
from shared.store.migrations import HEAD, require_current

CLOCK_WARNING_S = 5.0
CLOCK_FAILURE_S = 120.0
ROUNDS_MISSED = 4


def database(patient: Patient) -> Iterator[Finding]:
    """The database answers, and its tables are those of this version."""
    try:
        require_current(patient.store.database)
    except SettingsError as due:
        yield ok("database", "it answers")
        yield failure("migrations", str(due), "run `deskbridge migrate`")
    except SQLAlchemyError as error:
        problem = f"it cannot be reached ({type(error).__name__})"
        yield failure("database", problem, "check that it runs, and DESKBRIDGE_DATABASE_URL")
    else:
        kind = patient.store.database.engine.dialect.name
        yield ok("database", f"{kind} answers")
        yield ok("migrations", f"revision {HEAD}")


def redis(patient: Patient) -> Iterator[Finding]:
    """Redis answers, and keeps what it is given."""
    try:
        patient.redis.ping()
        policy = _policy(patient)
    except RedisError as error:
        problem = f"it cannot be reached ({type(error).__name__}): no worker can take a lock"
        yield failure("redis", problem, "check that it runs, and DESKBRIDGE_REDIS_URL")
        return
    if policy not in (None, "noeviction"):
        todo = "set `maxmemory-policy noeviction`"
        yield warning("redis", f"maxmemory-policy is {policy}: it may drop locks", todo)
    else:
        yield ok("redis", "it answers")


def _policy(patient: Patient) -> str | None:
    """Return what Redis does when its memory is full, None where it does not say (hosted ones often forbid CONFIG)."""
    try:
        found = patient.redis.config_get("maxmemory-policy")
    except ResponseError:
        return None
    return found.get("maxmemory-policy") if isinstance(found, dict) else None


def broker(patient: Patient) -> Iterator[Finding]:
    """The broker takes rings."""
    if patient.is_broker_answering():
        yield ok("broker", "it answers")
    else:
        yield failure(
            "broker",
            "it cannot be reached: nothing is worked on",
            "check that it runs, and DESKBRIDGE_BROKER_URL",
        )


def workers(patient: Patient) -> Iterator[Finding]:
    """A worker and a beat have given a sign of life lately."""
    interval = patient.settings.sweep_interval
    try:
        presence = Presence(patient.redis)
        worker, beat = presence.seconds_since(WORKER), presence.seconds_since(BEAT)
    except RedisError:
        return
    if worker is None or worker > interval * 3 * ROUNDS_MISSED:
        yield failure(
            "worker", f"no sign of life{_since(worker)}: nothing is sent", "start `deskbridge worker`"
        )
    else:
        yield ok("worker", f"alive {worker:.0f} s ago")
    if beat is None or beat > interval * ROUNDS_MISSED:
        problem = f"no sign of life{_since(beat)}: workers sweep without it, but metadata grows old"
        yield warning("beat", problem, "start `deskbridge beat` (and a worker, which answers it)")
    else:
        yield ok("beat", f"alive {beat:.0f} s ago")


def clocks(patient: Patient) -> Iterator[Finding]:
    """The clocks of this machine, the database and the tracker agree."""
    with patient.store.transaction() as tx:
        clocks = [("the database", tx.now(), datetime.now(UTC))]
    clocks += [("the tracker", theirs, ours) for theirs, ours in patient.tracker_clocks[-1:]]
    apart = {name: abs((theirs - ours).total_seconds()) for name, theirs, ours in clocks}
    worst = max(apart, key=lambda name: apart[name])
    told = f"this machine and {worst} are {apart[worst]:.0f} s apart"
    todo = "let NTP set the clock of every machine"
    if apart[worst] > CLOCK_FAILURE_S:
        yield failure("clock", told, todo)
    elif apart[worst] > CLOCK_WARNING_S:
        yield warning("clock", told, todo)
    else:
        yield ok("clock", f"within {CLOCK_WARNING_S:g} s of {' and '.join(apart)}")


def _since(seconds: float | None) -> str:
    return "" if seconds is None else f" for {seconds:.0f} s"
