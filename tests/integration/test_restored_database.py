"""A restored database is recognised by itself: workers send nothing until a person says what it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from secrets import token_hex

import pytest
from sqlalchemy import delete, make_url, text, update

from deploy.embedded.postgres import PostgresServer
from deploy.sandbox.tracker.control import StandIn
from producer.admin.backfill import recovery
from producer.admin.doctor.examination import examine
from producer.admin.doctor.work import doubt_of_database
from shared.notices.doctor_work import WorkFinding
from shared.notices.system_refusals import SystemRefusal
from shared.redis.keys import key_of
from shared.redis.locks import NEWEST, Locks
from shared.store.journal.installations import note_identity
from shared.store.journal.recovery import _differ
from shared.store.tables.database import IDENTITY, Database
from shared.store.tables.journal import InstallationRecord, JournalEvent
from shared.store.tables.ledger import TicketIssueLink
from shared.store.tables.types import moment
from shared.values.ids import LARGEST
from shared.values.newest_event import NewestEvent
from tests.failures.test_a_standby_is_told_apart import Follower
from tests.integration.test_doctor import installation
from tests.integration.test_recovery import RETENTION, Backup, ours
from tests.support.bridge import Bridge
from tests.support.databases import make_tables
from tests.support.events import task, task_event, ticket

pytestmark = pytest.mark.promise("OPS-33")


def number(of: int) -> dict[str, object]:
    return task_event(of, of_ticket=ticket(of), of_task=task(of))


def reason(bridge: Bridge, event_id: int) -> str:
    notice = bridge.event(event_id).notice
    assert notice is not None
    return str(notice.code)


def after_the_pause(bridge: Bridge, *ticket_ids: int) -> None:
    bridge.redis.delete(bridge.breaker.key)
    bridge.hurry()
    for ticket_id in ticket_ids:
        bridge.sync(ticket_id)


def doubt(bridge: Bridge) -> str | None:
    found = doubt_of_database(bridge.store, bridge.redis, RETENTION)
    return None if found is None else str(found.code)


@pytest.fixture
def backup(bridge: Bridge, tmp_path: Path) -> Backup:
    """A backup with one ticket in it."""
    assert bridge.forward(number(1), ticket_id=1) == ["done"]
    return Backup(bridge, tmp_path)


def test_nothing_is_sent_from_a_restored_database_until_a_person_says_so(
    bridge: Bridge, stand_in: StandIn, backup: Backup
) -> None:
    assert bridge.forward(number(2), ticket_id=2) == ["done"]
    backup.restore(recover=False)
    ids = bridge.receive(number(2), number(3))
    bridge.sync(2)
    bridge.sync(3)
    assert len(ours(stand_in)) == 2
    assert reason(bridge, ids[0]) == SystemRefusal.DATABASE_BEHIND
    found = next(one for one in examine(installation(bridge)) if one.check == "recovery")
    assert (found.status, found.found.code) == ("failure", WorkFinding.RECOVERY_NOT_BEGUN)
    assert "deskbridge restore begin" in found.todo
    recovery.begin(bridge.store, RETENTION)
    after_the_pause(bridge, 2, 3)
    assert len(ours(stand_in)) == 3, "ticket 2 is found, ticket 3 is new"
    assert [bridge.event(one).state for one in ids] == ["done", "done"]


def test_it_is_recognised_though_the_help_desk_has_sent_as_many_events_again(
    bridge: Bridge, stand_in: StandIn, backup: Backup
) -> None:
    """The restored journal gives the same ids again, even to the same deliveries."""
    bridge.forward(number(2), ticket_id=2)
    backup.restore(recover=False)
    bridge.receive(*(number(of) for of in (2, 3, 4, 5)))
    for of in (5, 4, 3, 2):
        after_the_pause(bridge, of)
    assert len(ours(stand_in)) == 2


def test_a_restart_of_the_worker_forgets_nothing(
    bridge: Bridge, stand_in: StandIn, backup: Backup, redis_url: str
) -> None:
    bridge.forward(number(2), ticket_id=2)
    backup.restore(recover=False)
    url = bridge.settings.database_url.get_secret_value()
    with closing(Bridge(url, redis_url, stand_in.base_url, stand_in.api_key)) as other:
        assert other.forward(number(2), ticket_id=2) == ["pending"]
    assert len(ours(stand_in)) == 2


def test_a_person_may_say_that_nothing_was_lost(bridge: Bridge, stand_in: StandIn, backup: Backup) -> None:
    bridge.forward(number(2), ticket_id=2)
    backup.restore(recover=False)
    assert doubt(bridge) == SystemRefusal.DATABASE_BEHIND
    recovery.end(bridge.store, nothing_lost=True)
    assert doubt(bridge) is None
    assert bridge.forward(number(3), ticket_id=3) == ["done"]


def test_a_late_writer_of_before_the_restore_stops_nobody(bridge: Bridge, backup: Backup) -> None:
    bridge.forward(number(2), ticket_id=2)
    locks = Locks(bridge.redis, 60, remembers_days=RETENTION)
    late = locks.newest()
    assert late is not None
    backup.restore()
    with locks.hold("ticket:9") as held:
        held.newest = NewestEvent(late.epoch, late.event_id + 100, late.received_us)
    assert doubt(bridge) is None
    bridge.forward(number(3), ticket_id=3)
    newest = locks.newest()
    with locks.hold("ticket:9") as held:
        held.newest = late
    assert locks.newest() == newest, "it is never lowered"


def test_a_second_restore_of_the_same_backup_is_recognised_too(bridge: Bridge, backup: Backup) -> None:
    backup.restore()
    bridge.forward(number(2), ticket_id=2)
    backup.restore(recover=False)
    assert doubt(bridge) == SystemRefusal.DATABASE_BEHIND


def test_an_emptied_redis_says_nothing_and_learns_anew(
    bridge: Bridge, stand_in: StandIn, backup: Backup
) -> None:
    bridge.redis.flushall()
    assert bridge.forward(number(2), ticket_id=2) == ["done"]
    backup.restore(recover=False)
    assert doubt(bridge) == SystemRefusal.DATABASE_BEHIND


def test_the_loss_of_the_last_commit_is_recognised_too(bridge: Bridge, stand_in: StandIn) -> None:
    """An asynchronous replica is promoted, which lacks what was committed last."""
    bridge.forward(number(1), ticket_id=1)
    (lost,) = bridge.receive(number(2))
    bridge.sync(2)
    with bridge.store.database.transaction() as session:
        session.execute(delete(JournalEvent).where(JournalEvent.id == lost))
        session.execute(delete(TicketIssueLink).where(TicketIssueLink.ticket_id == 2))
    assert bridge.forward(number(2), ticket_id=2) == ["pending"]
    assert len(ours(stand_in)) == 2


def test_a_sample_that_was_deleted_again_is_no_lost_event(bridge: Bridge) -> None:
    bridge.forward(task_event(1, of_ticket=ticket(LARGEST), of_task=task(LARGEST)), ticket_id=LARGEST)
    with bridge.store.transaction() as tx:
        tx.samples.delete(LARGEST)
    assert bridge.forward(number(1), ticket_id=1) == ["done"]


@pytest.mark.parametrize("stored", ["", "x", "1:2", "-1:2:3", "1:2:3:4", "1:" + "9" * 40 + ":3", "9" * 5000])
def test_what_no_worker_wrote_stops_nobody(bridge: Bridge, stored: str) -> None:
    bridge.redis.set(key_of(bridge.redis, NEWEST), stored)
    assert doubt(bridge) is None
    assert bridge.forward(number(1), ticket_id=1) == ["done"]
    assert bridge.forward(number(2), ticket_id=2) == ["done"]


def test_a_value_of_another_type_stops_nobody(bridge: Bridge) -> None:
    bridge.redis.rpush(key_of(bridge.redis, NEWEST), "x")
    assert doubt(bridge) is None
    assert bridge.forward(number(1), ticket_id=1) == ["done"]


def test_a_journal_that_was_pruned_is_no_restored_one(bridge: Bridge) -> None:
    bridge.forward(number(1), ticket_id=1)
    with bridge.store.database.transaction() as session:
        session.execute(update(JournalEvent).values(received_at=moment(-100 * 86400)))
    bridge.receive(number(2))
    bridge.redis.delete(key_of(bridge.redis, NEWEST))
    with bridge.store.transaction() as tx:
        old = NewestEvent.of(0, 1, tx.now() - timedelta(days=RETENTION + 1))
    with Locks(bridge.redis, 60, remembers_days=RETENTION).hold("ticket:1") as held:
        held.newest = old
    with bridge.store.database.transaction() as session:
        session.execute(delete(JournalEvent).where(JournalEvent.id == 1))
    assert doubt(bridge) is None
    assert bridge.forward(number(3), ticket_id=3) == ["done"]


@pytest.mark.parametrize(
    ("recorded", "identity", "differ"),
    [
        ("7/5", "7/5", False),
        ("7/5", "7/6", True),
        ("7/5", "8/5", True),
        ("?/5", "7/5", False),
        ("7/5", "?/5", False),
        ("7/5", "?/6", True),
        (None, "7/5", False),
        ("7/5", None, False),
    ],
)
def test_a_part_that_a_provider_hides_proves_nothing(
    recorded: str | None, identity: str | None, differ: bool
) -> None:
    assert _differ(recorded, identity) is differ


class TestOnPostgreSQL:
    """What identifies a database itself."""

    @pytest.fixture
    def moved(
        self, stand_in: StandIn, redis_url: str, postgres_server: PostgresServer, postgres_url: str
    ) -> Iterator[tuple[Bridge, Bridge]]:
        """An installation, and a copy of its database with an empty Redis of its own."""
        with closing(Bridge(postgres_url, redis_url, stand_in.base_url, stand_in.api_key)) as bridge:
            bridge.forward(number(1), ticket_id=1)
            bridge.store.database.close()
            name = bridge.store.database.engine.url.database
            copy = postgres_server.create_database(f"{name}_copy", template=name)
            bridge.redis.flushall()
            with closing(Bridge(copy, redis_url, stand_in.base_url, stand_in.api_key)) as other:
                yield bridge, other
            postgres_server.drop_database(f"{name}_copy")

    def test_a_copy_of_a_database_is_recognised_without_redis(
        self, moved: tuple[Bridge, Bridge], stand_in: StandIn
    ) -> None:
        first, copy = moved
        assert copy.forward(number(2), ticket_id=2) == ["pending"]
        assert doubt(copy) == SystemRefusal.DATABASE_COPIED
        assert len(ours(stand_in)) == 1
        with copy.store.database.engine.begin() as connection:
            note_identity(connection)
        assert doubt(copy) == SystemRefusal.DATABASE_COPIED, "a restart does not hide it"
        copy.redis.delete(copy.breaker.key)
        assert first.forward(number(2), ticket_id=2) == ["done"]
        recovery.end(copy.store, nothing_lost=True)
        assert doubt(copy) is None

    def test_a_database_of_an_earlier_version_learns_what_it_is(self, bridge_on_postgresql: Bridge) -> None:
        database = bridge_on_postgresql.store.database
        with database.transaction() as session:
            session.execute(update(InstallationRecord).values(database=None))
        assert doubt(bridge_on_postgresql) is None
        with database.engine.begin() as connection:
            note_identity(connection)
        with database.transaction() as session:
            system, _, oid = str(
                session.scalar(
                    InstallationRecord.__table__.select().with_only_columns(InstallationRecord.database)
                )
            ).partition("/")
        assert system.isdigit()
        assert oid.isdigit()

    def test_a_provider_may_hide_the_servers_identity(self, postgres_url: str) -> None:
        role = f"limited_{token_hex(4)}"
        owner = Database(postgres_url)
        with owner.transaction() as session:
            session.execute(text("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC"))
            session.execute(text(f"CREATE ROLE {role} LOGIN"))
        url = make_url(postgres_url).set(username=role).render_as_string(hide_password=False)
        limited = Database(url)
        with limited.engine.connect() as connection:
            system, _, oid = connection.info[IDENTITY].partition("/")
        assert (system, oid.isdigit()) == ("?", True)
        limited.close()
        with owner.transaction() as session:
            session.execute(text(f"DROP ROLE {role}"))
        owner.close()

    def test_a_promoted_standby_is_the_same_database(
        self, stand_in: StandIn, redis_url: str, servers_dir: Path
    ) -> None:
        server = Follower(servers_dir / "promoted", fsync=False)
        try:
            server.start()
            url = server.create_database("promoted")
            make_tables(Database(url))
            with closing(Bridge(url, redis_url, stand_in.base_url, stand_in.api_key)) as bridge:
                assert bridge.forward(number(1), ticket_id=1) == ["done"]
                bridge.store.database.close()
                server.follow()
                server.promote()
                assert doubt(bridge) is None
                assert bridge.forward(number(2), ticket_id=2) == ["done"]
        finally:
            server.destroy()
