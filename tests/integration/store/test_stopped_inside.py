"""A process that stops inside a transaction holds its locks only for a while, and no other waits for ever."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from secrets import token_hex

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from deploy.embedded.postgres import PostgresServer
from shared.store.tables import database as module
from shared.store.tables.database import Database, is_held_by_others

SHORT_S = 2.0
LONG_S = 600.0
CHANGE = text("UPDATE held SET value = value + 1")


@pytest.fixture
def url(postgres_server: PostgresServer) -> str:
    """A database with one row that two transactions want to change."""
    url = postgres_server.create_database(f"stopped_{token_hex(4)}")
    database = Database(url)
    with database.transaction() as session:
        session.execute(text("CREATE TABLE held (value integer)"))
        session.execute(text("INSERT INTO held VALUES (0)"))
    database.close()
    return url


def opened(url: str, monkeypatch: pytest.MonkeyPatch, *, idle: float, wait: float) -> Database:
    monkeypatch.setattr(module, "IDLE_IN_TRANSACTION_S", idle)
    monkeypatch.setattr(module, "LOCK_WAIT_S", wait)
    database = Database(url, pool_size=1)
    database.engine.connect().close()  # connected while the limits are those
    return database


def value(session: Session) -> int:
    return int(session.scalar(text("SELECT value FROM held")) or 0)


def test_who_waits_for_a_stopped_process_goes_on_and_its_half_done_work_is_undone(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = opened(url, monkeypatch, idle=SHORT_S, wait=LONG_S)
    waiting = opened(url, monkeypatch, idle=LONG_S, wait=LONG_S)
    with pytest.raises(DBAPIError), stopped.transaction() as session:
        began = time.monotonic()
        session.execute(CHANGE)
        with waiting.transaction() as other:
            other.execute(CHANGE)
        assert SHORT_S / 2 < time.monotonic() - began < 20 * SHORT_S
        session.execute(CHANGE)  # the stopped process continues
    with waiting.transaction() as other:
        assert value(other) == 1
    with stopped.transaction() as session:
        session.execute(CHANGE)
        assert value(session) == 2, "it goes on with a connection of its own again"
    stopped.close()
    waiting.close()


def test_a_wait_for_a_lock_ends_by_itself(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = opened(url, monkeypatch, idle=LONG_S, wait=LONG_S)
    waiting = opened(url, monkeypatch, idle=LONG_S, wait=SHORT_S)
    with holder.transaction() as session:
        session.execute(CHANGE)
        with pytest.raises(DBAPIError) as failed, waiting.transaction() as other:
            other.execute(CHANGE)
        assert is_held_by_others(failed.value)
    with waiting.transaction() as other:
        assert value(other) == 1
    holder.close()
    waiting.close()


def test_who_is_stopped_is_ended_before_others_give_up_waiting() -> None:
    assert module.IDLE_IN_TRANSACTION_S < module.LOCK_WAIT_S


def test_a_busy_sqlite_file_is_told_from_a_broken_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUSY_TIMEOUT_S", 0.1)
    database = Database(f"sqlite:///{tmp_path}/busy.sqlite3")
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with database.transaction() as session:
            session.execute(text("SELECT 1"))
            entered.set()
            leave.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait()
    with pytest.raises(DBAPIError) as failed, database.transaction() as session:
        session.execute(text("SELECT 1"))
    leave.set()
    holder.join()
    assert is_held_by_others(failed.value)
    with pytest.raises(DBAPIError) as failed, database.transaction() as session:
        session.execute(text("SELECT 1 FROM nowhere"))
    assert not is_held_by_others(failed.value)
    database.close()


def test_threads_of_one_process_take_turns_at_sqlite(tmp_path: Path) -> None:
    """Each thread continues as soon as the one before it has ended, not only when SQLite retries."""
    database = Database(f"sqlite:///{tmp_path}/turns.sqlite3")
    event.listen(
        database.engine, "connect", lambda connection, _: connection.execute("PRAGMA busy_timeout=0")
    )
    entered = threading.Event()

    def hold() -> None:
        with database.transaction() as session:
            session.execute(text("SELECT 1"))
            entered.set()
            time.sleep(0.2)

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait()
    with database.transaction() as session:
        session.execute(text("SELECT 1"))
    holder.join()
    database.close()
