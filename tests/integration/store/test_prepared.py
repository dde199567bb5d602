"""Hot statements return and fail as through SQLAlchemy; PostgreSQL plans each only once per connection."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr
from sqlalchemy import BigInteger, Boolean, Text, bindparam, column, func, literal, make_url, select, text
from sqlalchemy.exc import CompileError, DBAPIError, OperationalError, ProgrammingError
from structlog.testing import capture_logs

from producer.intake.app import Producer
from shared.process.settings import Settings
from shared.store.tables import prepared
from shared.store.tables.database import Database
from shared.store.tables.functions import among
from shared.store.tables.journal import EventState
from shared.store.tables.prepared import HotStatement, execute_prepared, send_with_next
from shared.store.tables.types import Json, UtcDateTime, Words
from tests.support.statements import listening
from worker.app import bootstrap

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
EACH = {
    "moment": UtcDateTime(),
    "content": Json(),
    "words": Words(),
    "state": Text(),
    "flag": Boolean(),
    "number": BigInteger(),
}
ECHO = select(*(bindparam(name, type_=kind).label(name) for name, kind in EACH.items()))
ONE = select(bindparam("one", type_=BigInteger).label("one"))
NAMES = text("SELECT name, statement FROM pg_prepared_statements ORDER BY name")
LIMIT = select(func.current_setting(literal("lock_timeout", Text)).label("limit"))
LIMITED = "SELECT set_config('lock_timeout', '7', true)"
KEPT = text("CREATE TABLE kept (number BIGINT PRIMARY KEY)")
KEY_DATA = b"K\x00\x00\x00\x0c"


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    with closing(Database(postgres_url, pool_size=1, prepares=True)) as made:
        yield made


def said(database: Database, statement: Any, **parameters: Any) -> list[tuple[Any, ...]]:
    """Return the result of the second execution, which is a prepared one if anything is prepared."""
    for _ in range(2):
        with database.transaction() as session:
            found = execute_prepared(session, statement, parameters)
    return [tuple(row) for row in found]


def prepared_on(database: Database) -> list[str]:
    """Return the statements that are prepared on the only connection."""
    with database.transaction() as session:
        return [statement for _, statement in session.execute(NAMES)]


@pytest.mark.parametrize(
    "given",
    [
        {
            "moment": NOON.astimezone(timezone(timedelta(hours=5))),
            "content": {"a": [1, "\x00", "ü", None]},
            "words": "a\x00b\ud800c %s %(x)s 'quoted' \\",
            "state": EventState.PENDING,
            "flag": False,
            "number": 2**40,
        },
        dict.fromkeys(EACH),
        {"moment": NOON, "content": [], "words": "", "state": "", "flag": True, "number": -1},
    ],
    ids=["each", "nothing", "empty"],
)
def test_what_is_given_comes_back_as_through_sqlalchemy(
    database: Database, postgres_url: str, given: dict[str, Any]
) -> None:
    with closing(Database(postgres_url)) as other:
        theirs = said(other, ECHO, **given)
    ours = said(database, ECHO, **given)
    assert ours == theirs
    assert [type(one) for one in ours[0]] == [type(one) for one in theirs[0]]
    assert len(prepared_on(database)) == 1


@pytest.mark.parametrize("some", [[], [2, 2**40], [7]])
def test_a_list_is_one_parameter_however_long_it_is(database: Database, some: list[int]) -> None:
    series = func.generate_series(literal(1, BigInteger), literal(3, BigInteger))
    numbers = series.table_valued(column("number", BigInteger)).render_derived()
    statement = select(numbers.c.number).where(among(numbers.c.number, "some"))
    assert said(database, statement, some=some) == [(2,)] * (2 in some)


def test_a_row_is_read_by_the_names_of_its_columns(database: Database) -> None:
    with database.transaction() as session:
        (row,) = execute_prepared(session, ECHO, dict.fromkeys(EACH) | {"number": 7})
    assert (row.number, row.words) == (7, None)


def test_a_parameter_without_a_type_is_a_fault_of_the_statement(database: Database) -> None:
    """The server would guess a type: `false` might come back as a text, which is truthy."""
    with pytest.raises(CompileError, match="NullType"), database.transaction() as session:
        execute_prepared(session, select(bindparam("it")), {"it": False})


def test_a_percent_sign_and_a_statement_without_parameters_are_prepared_too(database: Database) -> None:
    assert said(database, text("SELECT 7 % 4 AS rest").columns(rest=BigInteger)) == [(3,)]
    assert " AS SELECT 7 % 4 AS rest" in prepared_on(database)[0]


@pytest.mark.parametrize("prepares", [True, False])
def test_what_is_sent_with_the_next_statement_holds_for_it_and_ends_with_the_transaction(
    postgres_url: str, *, prepares: bool
) -> None:
    with closing(Database(postgres_url, pool_size=1, prepares=prepares)) as database:
        for _ in range(2):
            with database.transaction() as session:
                send_with_next(session, LIMITED)
                assert execute_prepared(session, LIMIT)[0].limit == "7ms"
        assert said(database, LIMIT) == [("15s",)]


def test_what_is_sent_with_the_next_statement_holds_for_one_of_sqlalchemy(database: Database) -> None:
    with database.transaction() as session:
        send_with_next(session, LIMITED)
        assert session.scalar(LIMIT) == "7ms"
    with database.transaction() as session:
        session.execute(text("CREATE TABLE told (number INTEGER, under TEXT)"))
    under = text("INSERT INTO told VALUES (:number, current_setting('lock_timeout'))")
    with database.transaction() as session:
        send_with_next(session, LIMITED)
        session.execute(under, [{"number": 1}, {"number": 2}])
    with database.transaction() as session:
        assert set(session.scalars(text("SELECT under FROM told"))) == {"7ms"}


def test_what_is_sent_with_a_hot_statement_is_no_round_trip_of_its_own(database: Database) -> None:
    asking = text("SELECT query FROM pg_stat_activity WHERE pid = pg_backend_pid()").columns(query=Text)
    said(database, asking)
    with database.transaction() as session:
        send_with_next(session, LIMITED)
        (row,) = execute_prepared(session, asking)
    assert row.query.startswith(f"{LIMITED}; EXECUTE deskbridge_")


def test_a_transaction_that_sends_nothing_more_leaves_nothing_to_the_next_one(database: Database) -> None:
    with database.transaction() as session:
        send_with_next(session, LIMITED)
    with database.transaction() as session:
        assert execute_prepared(session, LIMIT)[0].limit == "15s"


def test_whoever_listens_to_statements_hears_of_hot_ones(database: Database) -> None:
    heard = list[Any]()
    with (
        listening(database.engine, before_cursor_execute=lambda *given: heard.append(given[3])),
        database.transaction() as session,
    ):
        execute_prepared(session, ONE, {"one": 5})
    assert heard == [{"one": 5}]


def test_a_fault_is_that_of_sqlalchemy_and_shows_no_value(database: Database) -> None:
    statement = select(bindparam("secret", type_=Text())).where(text("nowhere = 1"))
    with pytest.raises(ProgrammingError) as failed, database.transaction() as session:
        execute_prepared(session, statement, {"secret": "a secret"})
    assert "a secret" not in str(failed.value)
    assert not failed.value.connection_invalidated


def test_a_statement_that_failed_is_prepared_all_the_same(database: Database) -> None:
    halves = select(literal(1, BigInteger) // bindparam("number", type_=BigInteger))
    with pytest.raises(DBAPIError, match="division by zero"), database.transaction() as session:
        execute_prepared(session, halves, {"number": 0})
    assert said(database, halves, number=1) == [(1,)]
    assert len(prepared_on(database)) == 1


def test_if_a_transaction_fails_nothing_of_it_stays(database: Database) -> None:
    with database.transaction() as session:
        session.execute(KEPT)
    with pytest.raises(ZeroDivisionError), database.transaction() as session:
        session.execute(text("INSERT INTO kept VALUES (1)"))
        assert execute_prepared(session, ONE, {"one": 1})
        raise ZeroDivisionError
    with database.transaction() as session:
        assert session.scalar(text("SELECT count(*) FROM kept")) == 0


def test_connections_that_the_server_has_ended_are_made_anew_all_at_once(postgres_url: str) -> None:
    """The first failure replaces all connections: they have the same age, and are just as dead."""
    with closing(Database(postgres_url, pool_size=3, prepares=True)) as database:

        def ask_by_all() -> None:
            with ExitStack() as stack:
                for _ in range(3):
                    assert execute_prepared(stack.enter_context(database.transaction()), ONE, {"one": 1})

        ask_by_all()
        with closing(Database(postgres_url)) as other, other.transaction() as session:
            session.execute(
                text(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE pid <> pg_backend_pid() AND datname = current_database()"
                )
            )
        with pytest.raises(OperationalError) as failed, database.transaction() as session:
            execute_prepared(session, ONE, {"one": 1})
        assert failed.value.connection_invalidated
        ask_by_all()


@pytest.mark.parametrize(
    "meanwhile", ["DEALLOCATE ALL", "ALTER TABLE kept ALTER number TYPE TEXT USING number::text || '!'"]
)
def test_if_the_server_knows_it_no_more_one_transaction_fails_and_the_others_go_on_without(
    database: Database, meanwhile: str
) -> None:
    """The cause is an unrecognised connection pooler, or a change of a table meanwhile."""
    with database.transaction() as session:
        session.execute(KEPT)
        session.execute(text("INSERT INTO kept VALUES (1)"))
    asking = select(column("number", Text)).select_from(text("kept"))
    said(database, asking)
    with database.transaction() as session:
        session.execute(text(meanwhile))
    with capture_logs() as lines:
        with pytest.raises(DBAPIError) as failed, database.transaction() as session:
            execute_prepared(session, asking)
        assert failed.value.connection_invalidated
        assert said(database, asking) in ([(1,)], [("1!",)])
    assert [line["event"] for line in lines] == ["no statement is prepared any more"]
    assert prepared_on(database) == []


def test_if_one_of_its_name_is_there_already_nothing_is_prepared(database: Database) -> None:
    with database.transaction() as session:
        session.execute(text(f"PREPARE {HotStatement(ONE).name} AS SELECT 5"))
    with pytest.raises(DBAPIError), database.transaction() as session:
        execute_prepared(session, ONE, {"one": 1})
    assert said(database, ONE, one=3) == [(3,)]
    assert prepared_on(database) == []


def test_each_new_connection_begins_anew(database: Database) -> None:
    for _ in range(2):
        assert said(database, ONE, one=1) == [(1,)]
        assert len(prepared_on(database)) == 1
        database.engine.dispose()


def of_a_worker(settings: Settings) -> Database:
    return bootstrap(settings, "5ac1", concurrency=1).store.database


def of_a_producer(settings: Settings) -> Database:
    return Producer(settings, "127.0.0.1", 8080)._store.database


@pytest.mark.parametrize("of_whom", [of_a_worker, of_a_producer])
def test_workers_and_producers_have_hot_statements_prepared(
    postgres_url: str, redis_url: str, of_whom: Callable[[Settings], Database]
) -> None:
    settings = Settings(
        database_url=SecretStr(postgres_url),
        redis_url=SecretStr(redis_url),
        secret_keys=(SecretStr(Fernet.generate_key().decode()),),
        allow_unsigned=True,
    )
    with closing(of_whom(settings)) as database:
        said(database, ONE, one=1)
        assert len(prepared_on(database)) == 1


def test_what_was_planned_for_a_small_table_is_planned_anew_when_it_has_grown(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill = "INSERT INTO kept SELECT one FROM generate_series(CAST(:first AS INTEGER), :last) one"
    number = column("number", BigInteger)
    asking = select(number).select_from(text("kept")).where(number == bindparam("wanted", type_=BigInteger))
    with database.transaction() as session:
        session.execute(KEPT)
        session.execute(text(fill), {"first": 1, "last": 20})
        session.execute(text("ANALYZE kept"))
        session.execute(text("ALTER TABLE kept SET (autovacuum_enabled = false)"))
    assert said(database, asking, wanted=7) == [(7,)]
    assert "Seq Scan" in plan_of(database, asking)
    with database.transaction() as session:
        session.execute(text(fill), {"first": 21, "last": 30_000})
    assert "Seq Scan" in plan_of(database, asking), "it is not noticed at once"
    monkeypatch.setattr(prepared, "PLANNED_FOR_S", 0.0)
    assert "Index Only Scan" in plan_of(database, asking)


def plan_of(database: Database, statement: Any) -> str:
    """Return the server's plan of a prepared statement."""
    with database.transaction() as session:
        return str(session.scalar(text(f"EXPLAIN EXECUTE {HotStatement(statement).name} (7)")))


def test_behind_a_pooler_nothing_is_prepared(postgres_url: str) -> None:
    url = make_url(postgres_url)
    with pooled(str(url.host), url.port or 5432) as port:
        through = url.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)
        with closing(Database(through, pool_size=1, prepares=True)) as database:
            assert said(database, ONE, one=1) == [(1,)]
            assert prepared_on(database) == []


@contextmanager
def pooled(host: str, port: int) -> Iterator[int]:
    """Forward connections as a pooler does: each client gets a process number that no server process has."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def pass_on(source: socket.socket, target: socket.socket) -> None:
            with suppress(OSError):
                while data := source.recv(65536):
                    before, key_data, after = data.partition(KEY_DATA)
                    target.sendall(before + key_data + b"\x7f" + after[1:] if key_data else data)
                target.shutdown(socket.SHUT_WR)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listening.accept()
                    server = socket.create_connection((host, port))
                    sockets.extend((client, server))
                    for pair in ((client, server), (server, client)):
                        threading.Thread(target=pass_on, args=pair, daemon=True).start()

        sockets = list[socket.socket]()
        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
        for one in sockets:
            one.close()
