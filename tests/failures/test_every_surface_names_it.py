"""What doctor, events, ticket history and console say of one failure: its cause, what heals, never that all is well."""

from __future__ import annotations

from sqlalchemy import update

from producer.admin.desk import Desk
from producer.admin.doctor.examination import examine
from producer.admin.doctor.installation import Installation
from shared.codes.deliveries import Undelivered
from shared.codes.findings import Finding
from shared.codes.reasons import Reason
from shared.process.itself import Process
from shared.redis.heartbeat import WORKER, Heartbeats
from shared.redis.keys import INSTALLATIONS, key_of
from shared.redis.latency import KEY as LATENCY
from shared.redis.latency import note_calls
from shared.redis.locks import make_redis
from shared.redis.rate_limit import KEY as TURNS
from shared.redis.rate_limit import RateLimiter, forget_turns
from shared.store.tables.journal import JournalEvent
from shared.store.tables.types import clock as clock_of_database
from tests.failures.stage import Act, Shown, Stage, staged
from tests.integration.console.pages import Visitor
from tests.support.events import task, task_event

WELL = "All is well"
OTHER = "0123456789ab"
NOT_WELL = (WELL, "being forwarded", "within moments", "Everything is on the tracker")


def no_calls_lately(stage: Stage) -> None:
    """Let the minutes pass for which it is known what calls took."""
    for key in stage.bridge.redis.scan_iter(f"{key_of(stage.bridge.redis, LATENCY)}*"):
        stage.bridge.redis.delete(key)


def slow_turns(stage: Stage) -> None:
    """Let workers keep a limit of one call in a hundred seconds."""
    RateLimiter(stage.bridge.redis, 0.01).next_turn()


def another_installation(stage: Stage) -> None:
    """Let a worker of another installation use the same Redis database."""
    other = make_redis(stage.bridge.settings, lambda: OTHER)
    Heartbeats(other).mark(WORKER)
    other.close()


def clock(ahead_s: float) -> Act:
    """Have the worker say how far its machine's clock is ahead of the database's."""
    return lambda stage: Heartbeats(stage.bridge.redis).mark(WORKER, ahead_s=ahead_s)


def quiet(stage: Stage) -> None:
    """Let the newest event be three days old."""
    stage.work()
    with stage.bridge.store.database.transaction() as session:
        session.execute(update(JournalEvent).values(received_at=clock_of_database(-3 * 86400)))


def refuse(since: int) -> Act:
    """Have the producer say what it refused three days ago, and how many of it since it accepted a delivery."""
    why = Undelivered.SECRET_UNKNOWN(setting="DESKBRIDGE_WEBHOOK_SECRETS")

    def act(stage: Stage) -> None:
        told = {
            "code": str(why.code),
            "params": dict(why.params),
            "seconds": 3 * 86400.0,
            "count": 4,
            "since": since,
        }
        with stage.bridge.store.transaction() as tx:
            tx.producers.mark("here:8080", Process.here(), [{**told, "addresses": ["10.0.0.7 (4)"]}])

    return act


FAILURES = [
    Shown(
        "nothing has come in for three days",
        quiet, Finding.LAST_EVENT, "Look at what it has queued", (), lambda stage: stage.work(),
        overview="the last event came in",
    ),
    Shown(
        "the secret was changed on one side, and no delivery was accepted since",
        refuse(4), Finding.DELIVERIES_REFUSED, "the same secret", (), refuse(0), overview="refused 4 deliveries",
    ),
    Shown(
        "a worker's clock is ten minutes ahead",
        clock(600), Finding.WORKER_CLOCK_AHEAD, "let NTP set the clock of", ("no sign of life",), clock(0.1),
        overview="is 600 s ahead of the database's",
    ),
    Shown(
        "a worker's clock is ten minutes behind",
        clock(-600), Finding.WORKER_CLOCK_BEHIND, "let NTP set the clock of", ("no sign of life",), clock(-0.1),
        overview="is 600 s behind the database's",
    ),
    Shown(
        "another installation uses the same Redis database",
        another_installation, Finding.OTHERS_IN_REDIS, "a Redis database of its own", ("no sign of life",),
        lambda stage: stage.bridge.redis.zrem(INSTALLATIONS, OTHER),
        overview=f"another deskbridge uses the same Redis database: {OTHER}",
    ),
    Shown(
        "RATE_LIMIT was meant as seconds and lets one call go in a hundred",
        slow_turns, Finding.RATE_LIMIT_LOW, "set DESKBRIDGE_RATE_LIMIT to 1 or more", ("no sign of life",),
        lambda stage: forget_turns(stage.bridge.redis),
        waits=Reason.TURN_AWAITED, overview="RATE_LIMIT allows 0.01 calls a second, which is 36 an hour",
    ),
    Shown(
        "the tracker takes four seconds for an answer",
        lambda stage: note_calls(stage.bridge.redis, {"POST issues": (5, 20.0)}), Finding.CALLS_SLOW,
        "look for what slows the tracker down", ("no sign of life",), no_calls_lately,
        waits=Finding.CALLS_SLOW, overview="took 4.0 s on average",
    ),
]  # fmt: skip


@staged(FAILURES)
def test_every_surface_names_the_cause(stage: Stage, pages: Visitor, failure: Shown) -> None:
    assert WELL in pages.open("/console")
    assert failure.code not in stage.doctor().codes
    stage.fail(failure)
    try:
        stage.named_by(failure, stage.doctor)
        if failure.waits:
            stage.bridge.receive(task_event(900, of_task=task(900)))
            for ask in (stage.events, stage.trace):
                assert failure.waits in ask().codes, ask().text
            assert not any(word in pages.open("/console/tickets/4711") for word in NOT_WELL), pages.page
        shown = pages.open("/console")
        assert failure.overview in shown, shown
        assert not any(word in shown for word in NOT_WELL), shown
    finally:
        failure.repair(stage)
    assert failure.code not in stage.doctor().codes, "repaired, it is well again at once"
    if failure.waits:
        stage.bridge.sync(4711)
        assert stage.goes_on()
    if failure.is_well_after:
        assert WELL in pages.open("/console")


def test_the_doctor_takes_no_turns(stage: Stage) -> None:
    """With the environment of the workers it would hang at the very limit that it is to name."""
    slow_turns(stage)
    key = key_of(stage.bridge.redis, TURNS)
    before = stage.bridge.redis.get(key)
    settings = stage.bridge.settings.model_copy(update={"rate_limit": 0.01})
    found = list(examine(Installation.of(Desk(settings, stage.bridge.store))))
    assert stage.bridge.redis.get(key) == before, "the next turn is as far ahead as it was"
    assert Finding.RATE_LIMIT_LOW in {one.found.code for one in found}
