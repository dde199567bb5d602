"""Rows about failures whose cause another one hid: a server that answers but refuses, and processes that end again."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from sqlalchemy import create_engine, update

from shared.process.itself import Process
from shared.redis.heartbeat import KEY, WORKER, Heartbeats
from shared.redis.keys import key_of
from shared.store.tables.journal import EventState, ProducerSign
from tests.failures.rows.databases import NOT_COMMITTED, administer
from tests.failures.rows.environment import DELAY, waits
from tests.failures.rows.row import Row
from tests.failures.stage import Stage, nothing_to_do

OTHER_OWNER = "owner_of_the_test"
CLOSED_PORT = 1
"""A port without a Redis, as the master of a replica."""
REJECTED = "the producer rejects events, and GLPI sends them again"
NO_WORKER = ("o worker is running", "tart `deskbridge worker`", "tart a worker")


def replica(stage: Stage) -> None:
    """Make Redis a replica of another server."""
    stage.during.callback(primary, stage)
    stage.bridge.redis.replicaof("127.0.0.1", CLOSED_PORT)


def primary(stage: Stage) -> None:
    """Make Redis a primary server again."""
    stage.bridge.redis.replicaof("NO", "ONE")


def lacks_replicas(stage: Stage) -> None:
    """Make Redis require a replica that it does not have."""
    stage.during.callback(needs_no_replica, stage)
    stage.bridge.redis.config_set("min-replicas-to-write", 1)


def needs_no_replica(stage: Stage) -> None:
    """Lower the number of replicas that Redis requires."""
    stage.bridge.redis.config_set("min-replicas-to-write", 0)


def locked(stage: Stage) -> None:
    """Lock the journal in a session that does not end."""
    engine = create_engine(stage.bridge.settings.database_url.get_secret_value())
    connection = engine.connect()
    stage.during.callback(engine.dispose)
    stage.during.callback(connection.close)
    stage.kept["session"] = connection
    connection.exec_driver_sql("LOCK TABLE journal IN EXCLUSIVE MODE")


def unlocked(stage: Stage) -> None:
    """Let the session end its transaction."""
    stage.kept["session"].rollback()


def of_another_owner(stage: Stage) -> None:
    """Give the journal to another account, as a restore by another user does."""
    stage.during.callback(administer, stage, f"DROP ROLE {OTHER_OWNER}")
    stage.during.callback(of_the_account, stage)
    administer(
        stage,
        f"CREATE ROLE {OTHER_OWNER}",
        f"GRANT ALL ON SCHEMA public TO {OTHER_OWNER}",
        f"ALTER TABLE journal OWNER TO {OTHER_OWNER}",
    )


def of_the_account(stage: Stage) -> None:
    """Give the journal back to deskbridge's account."""
    administer(
        stage, "ALTER TABLE journal OWNER TO postgres", f"REVOKE ALL ON SCHEMA public FROM {OTHER_OWNER}"
    )


def frozen(stage: Stage) -> None:
    """Let the producer's last heartbeat be 40 seconds old."""
    with stage.bridge.store.database.transaction() as session:
        session.execute(update(ProducerSign).values(seen_at=datetime.now(UTC) - timedelta(seconds=40)))


def thawed(stage: Stage) -> None:
    """Let the producer record a heartbeat."""
    with stage.bridge.store.transaction() as tx:
        tx.producers.mark("here:8080", Process.here(), [])


def restarts(stage: Stage) -> None:
    """Let five workers end a few seconds after their start, one after the other."""
    redis = stage.bridge.redis
    for pid in range(1, 6):
        worker = Process("crashing", pid, "2.0", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
        Heartbeats(redis).mark(WORKER, worker)
        member = json.dumps(worker.told(), sort_keys=True)
        redis.zincrby(key_of(redis, KEY + WORKER), -30 - 5 * pid, member)
        stage.kept.setdefault("crashed", []).append(member)


def runs(stage: Stage) -> None:
    """Wait until no worker has ended for two minutes."""
    redis = stage.bridge.redis
    for member in stage.kept["crashed"]:
        redis.zincrby(key_of(redis, KEY + WORKER), -120, member)


def fails_for_hours(stage: Stage) -> None:
    """Make a plug-in of the tracker answer 500 to each new time entry."""
    stage.kept["fault"] = stage.stand_in.fault(
        "status_before", method="POST", path="/time_entries.json", status=500
    )


def works_again(stage: Stage) -> None:
    """Repair the plug-in."""
    stage.stand_in.clear_faults(stage.kept["fault"])


BREAKAGES = [
    Row(
        17,
        "a plug-in answers 500 to time entries",
        fails_for_hours,
        EventState.PENDING,
        doctor="POST /time_entries.json answered 500",
        step="if Redmine goes on to answer 500, read its log",
        heal=works_again,
        everywhere="POST /time_entries.json answered 500",
        real=False,
    ),
    Row(
        38,
        "Redis takes no writes, for lack of replicas",
        lacks_replicas,
        EventState.PENDING,
        doctor="has fewer replicas than required, so nothing can be locked or sent",
        step="start Redis' replicas, or lower `min-replicas-to-write`",
        heal=needs_no_replica,
        everywhere="Redis has fewer replicas than required",
        arrives=waits,
        unreachable=("redis",),
        never=NO_WORKER,
        told_before=True,
    ),
    Row(
        39,
        "Redis has become a replica",
        replica,
        EventState.PENDING,
        doctor="is a read-only replica, so nothing can be locked or sent",
        step="set DESKBRIDGE_REDIS_URL to the primary or the Sentinels in every process",
        heal=primary,
        everywhere="Redis is a read-only replica",
        arrives=waits,
        unreachable=("redis",),
        never=NO_WORKER,
        told_before=True,
    ),
    Row(
        43,
        "the journal is locked in a session",
        locked,
        None,
        doctor="is locked, so no event can be stored: session",
        step="let that session commit, or end it with",
        heal=unlocked,
        everywhere=NOT_COMMITTED,
        overview="is locked, so no event can be stored: session",
        arrives=nothing_to_do,
        readyz=503,
        unreachable=("database",),
        on_postgresql=True,
        told_before=True,
    ),
    Row(
        42,
        "the producer is frozen",
        frozen,
        EventState.DONE,
        doctor="so no events are received",
        step="start `deskbridge producer`",
        heal=thawed,
        everywhere=DELAY,
        overview="so no events are received",
        told_before=True,
    ),
    Row(
        44,
        "a worker ends again and again",
        restarts,
        EventState.DONE,
        doctor="5 processes ended within the last two minutes, soon after their start (on crashing)",
        step="read the end of their log",
        heal=runs,
        everywhere=DELAY,
        overview="5 processes ended within the last two minutes",
        never=("are running",),
        told_before=True,
    ),
    Row(
        49,
        "the journal has another owner",
        of_another_owner,
        None,
        doctor="may not append to the journal",
        step="run `REASSIGN OWNED BY … TO …` with the tables' owner and this account",
        heal=of_the_account,
        events="permission denied for table journal",
        history="permission denied for table journal",
        ticket=REJECTED,
        overview=REJECTED,
        arrives=nothing_to_do,
        readyz=503,
        unreachable=("database",),
        on_postgresql=True,
        told_before=True,
    ),
]
"""Numbered as the failures that this table extends; the forty have numbers of their own."""
