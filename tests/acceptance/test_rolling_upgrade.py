"""The old version keeps working through a migration to the next one (expand, then contract), but cannot restart."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, text

from producer.admin.migrations.upgrading import run_with_lock_timeout
from shared.store.tables.schema import HEAD
from tests.support.bridge import STATUS_MAP
from tests.support.fleet import Fleet
from tests.support.workload import generate

pytestmark = pytest.mark.promise("OPS-03")

NEXT = "9999"
WIDENED = ("journal", "ticket_state", "ticket_issue_link", "task_time_link", "trace_step", "plugin_config")
SYNCED_WITHIN_S = 150


@pytest.fixture
def fleet(new_fleet: Fleet) -> Fleet:
    """A fleet of the current version, which plays the old version here."""
    return new_fleet.start(workers=1, threads=8)


def expand(connection: Connection) -> None:
    """Do what the next version's `migrate` may do: add a table, an index, nullable columns and an unknown setting."""
    op = Operations(MigrationContext.configure(connection))
    op.create_table("something_new", sa.Column("id", sa.BigInteger(), primary_key=True))
    for table in WIDENED:
        op.add_column(table, sa.Column("added", sa.Text(), nullable=True))
    op.create_index("ix_journal_added", "journal", ["added"])
    connection.execute(text("UPDATE alembic_version SET version_num = :next"), {"next": NEXT})
    newer = """UPDATE plugin_config SET "values" = rtrim("values", '}') || ', "of_a_newer_version": 1}'"""
    connection.execute(text(newer))


@pytest.mark.slow
def test_the_version_before_works_on_through_a_migration_and_refuses_to_start_after_it(fleet: Fleet) -> None:
    workload = generate(5, tickets=20, events=100)
    half = len(workload.deliveries) // 2
    fleet.stand_in.settings(latency_ms=50)
    fleet.send(workload.deliveries[:half])
    fleet.wait_until_busy()
    run_with_lock_timeout(fleet.bridge.store.database, expand, tries=100)
    fleet.send(workload.deliveries[half:])
    fleet.wait_until_synced(SYNCED_WITHIN_S)
    state = fleet.stand_in.state()
    differences = workload.differences(state["issues"], state["time_entries"], STATUS_MAP)
    assert not differences, "\n".join([*differences, str(fleet.states()), fleet.logs()])
    assert set(fleet.states()) <= {"done", "skipped", "superseded"}, fleet.states()
    for command in (("worker",), ("producer", "--port", "0"), ("event", "list")):
        ended = fleet.run(*command)
        assert ended.returncode == 1, ended
        assert (
            f"the database is at revision {NEXT}, and this version only knows {HEAD}: upgrade deskbridge"
            in ended.stderr
        )
