"""The doctor calls a PostgreSQL that follows another server a standby, not "set to read only", and names the fix."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest

from deploy.embedded.child import Child
from deploy.embedded.postgres import PostgresServer
from deploy.sandbox.tracker.control import StandIn
from producer.admin.doctor.examination import at_a_glance, examine
from shared.notices.doctor_service import ServiceFinding
from shared.store.tables import database
from shared.store.tables.database import Database
from tests.integration.test_doctor import installation
from tests.support.bridge import Bridge
from tests.support.databases import make_tables
from tests.support.events import task_event

pytestmark = pytest.mark.stand_in


class Follower(PostgresServer):
    """A server that can restart as a standby."""

    def follow(self) -> None:
        """Restart as the standby of a server that is down."""
        self.stop()
        (self._pgdata / "standby.signal").touch()
        self.start()

    def promote(self) -> None:
        """Make it accept writes, as after a failover."""
        with psycopg2.connect(host="127.0.0.1", port=self.port, user="postgres", dbname="postgres") as asked:
            asked.cursor().execute("SELECT pg_promote()")

    def _answers(self, child: Child) -> bool:
        if super()._answers(child):
            return True
        file = self._pgdata / "postmaster.pid"
        lines = file.read_text().splitlines() if file.exists() else []
        return len(lines) > 7 and lines[0] == str(child.pid) and lines[7].strip() == "standby"


@pytest.fixture
def server(servers_dir: Path) -> Iterator[Follower]:
    """Provide a server for this test alone."""
    made = Follower(servers_dir / "follower", fsync=False)
    try:
        made.start()
        yield made
    finally:
        made.destroy()


def test_a_standby_is_named_and_the_server_that_takes_writes_heals(
    server: Follower, stand_in: StandIn, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "TRIED_EVERY_S", -1.0)
    url = server.create_database("followed")
    make_tables(Database(url))
    bridge = Bridge(url, redis_url, stand_in.base_url, stand_in.api_key)
    bridge.store.database.engine.dispose()
    server.follow()
    named = next(one for one in examine(installation(bridge)) if one.check == "database")
    assert (named.status, named.found.code) == ("failure", ServiceFinding.DATABASE_STANDBY)
    assert "is on a read-only standby server" in named.what
    assert named.todo.startswith("set DESKBRIDGE_DATABASE_URL to the primary server")
    assert "is set to read-only, so no event can be stored" not in named.what
    assert [one.found.code for one in at_a_glance(installation(bridge)) if one.check == "database"] == [
        ServiceFinding.DATABASE_STANDBY
    ]
    assert not bridge.store.database.takes_writes(), "/readyz and the metric follow it"
    server.promote()  # now the URL leads to a server that accepts writes
    assert bridge.store.database.takes_writes()
    assert bridge.forward(task_event()) == ["done"]
    bridge.close()
