"""pgbouncer with three connections in transaction mode: the store's tests, concurrent migrations, and a whole day."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from secrets import token_hex

import pytest
from sqlalchemy import BigInteger, text
from sqlalchemy.exc import OperationalError

from deploy.embedded.postgres import PostgresServer
from deploy.sandbox.tracker.control import StandIn
from shared.store.tables.database import Database
from shared.store.tables.prepared import execute_prepared
from tests.deployment.ha import pooled
from tests.deployment.ha.load import Load
from tests.deployment.ha.postgres import USER, Pooler, execute
from tests.support.fleet import ROOT, Fleet
from tests.support.workload import generate

pytestmark = [pytest.mark.ha, pytest.mark.timeout(900)]

Unpack = Callable[..., Path]
MIGRATIONS = 3
LIMITS = ("idle_in_transaction_session_timeout = '10s'", "lock_timeout = '15s'")
"""The limits that docs/how-to/high-availability.md sets."""

STORE = "tests/integration/store"
NOT_THROUGH_IT = tuple(f"{STORE}/test_{name}.py" for name in ("stopped_inside", "prepared"))
"""Left out: limits that each connection sets for itself, which come from the role with pgbouncer, and prepared
statements, which are not used with it."""


@pytest.fixture(scope="module")
def unpacked(unpack: Unpack) -> Path:
    """The folder with pgbouncer and the libraries that it needs."""
    return unpack("pgbouncer", "libc-ares2", "libevent-2.1-7")


@pytest.fixture
def pooler(unpacked: Path, servers_dir: Path, postgres_server: PostgresServer) -> Iterator[Pooler]:
    """A pgbouncer in front of the tests' PostgreSQL, with limits set on the role."""
    postgres_server.revive()
    for limit in LIMITS:
        execute(postgres_server, f"ALTER ROLE {USER} SET {limit}")
    one = Pooler(
        program(unpacked), servers_dir / f"pgbouncer-{token_hex(4)}", postgres_server, libraries(unpacked)
    )
    try:
        one.start()
        yield one
    finally:
        one.stop()


def program(unpacked: Path) -> Path:
    """Return the path of pgbouncer."""
    return unpacked / "usr" / "sbin" / "pgbouncer"


def libraries(unpacked: Path) -> Path:
    """Return the folder of the libraries."""
    return unpacked / "usr" / "lib" / f"{os.uname().machine}-linux-gnu"


def test_the_store_s_tests_pass_through_it(unpacked: Path, report: list[str]) -> None:
    given = {pooled.PROGRAM: str(program(unpacked)), pooled.LIBRARIES: str(libraries(unpacked))}
    command = [
        "-p",
        "tests.deployment.ha.pooled",
        "-q",
        "-k",
        "not sqlite",
        STORE,
        *(f"--ignore={one}" for one in NOT_THROUGH_IT),
    ]
    began = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *command],
        cwd=ROOT, env={**os.environ, **given}, capture_output=True, text=True, timeout=850, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-6000:]
    passed = re.search(r"(\d+) passed", ended.stdout)
    assert passed
    assert int(passed[1]) > 50, "these were not all of them"
    report.append(
        f"pgbouncer: {passed[1]} of the store's tests pass through it ({time.monotonic() - began:.0f} s)"
    )


def test_three_migrations_at_once_and_a_day_go_through_it(
    tmp_path: Path, pooler: Pooler, postgres_server: PostgresServer, redis_url: str, report: list[str]
) -> None:
    postgres_server.create_database("pooled")
    url = pooler.url("pooled")
    env = {"PATH": os.environ["PATH"], "DESKBRIDGE_DATABASE_URL": url}
    command = [sys.executable, "-m", "producer.cli.main", "migrate"]

    def migrate(_: int) -> str:
        ended = subprocess.run(
            command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
        )
        return "" if ended.returncode == 0 else ended.stdout + ended.stderr

    with ThreadPoolExecutor(MIGRATIONS) as threads:
        assert list(threads.map(migrate, range(MIGRATIONS))) == [""] * MIGRATIONS
    with StandIn() as stand_in:
        fleet = Fleet(tmp_path, url, redis_url, stand_in)
        try:
            fleet.start(workers=2)
            load = Load(fleet, generate(10, tickets=100, events=500, copies=1))
            with load:
                pass
            synced = load.check()
            assert load.refused == []
            said = fleet.run("doctor").stdout
            assert re.search(r"ok +database", said), said
        finally:
            fleet.stop()
    report.append(
        f"pgbouncer: {MIGRATIONS} migrations at once, then {len(load.accepted)} events through three connections; "
        f"all done {synced:.1f} s after the last"
    )


def test_the_limits_of_the_role_hold_whichever_connection_one_gets(pooler: Pooler) -> None:
    database = Database(pooler.url("postgres"))
    for _ in range(10):
        with database.transaction() as tx:
            told = tx.execute(text("SELECT current_setting('idle_in_transaction_session_timeout')")).scalar()
        assert told == "10s"
    database.close()


def test_nothing_is_prepared_through_it(pooler: Pooler) -> None:
    with closing(Database(pooler.url("postgres"), prepares=True)) as database:
        counting = text("SELECT count(*) FROM pg_prepared_statements").columns(count=BigInteger)
        for _ in range(15):
            with database.transaction() as tx:
                assert execute_prepared(tx, counting) == [(0,)]


def test_options_in_the_address_are_refused_by_it(pooler: Pooler) -> None:
    database = Database(f"{pooler.url('postgres')}?options=-c%20lock_timeout%3D1s")
    with pytest.raises(OperationalError, match="unsupported startup parameter"), database.transaction() as tx:
        tx.connection()
    database.close()
