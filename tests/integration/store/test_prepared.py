"""PostgreSQL plans once what comes often on a connection, and whoever asks notices nothing but the time it takes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest
from cryptography.fernet import Fernet
from pydantic import SecretStr
from sqlalchemy import literal, make_url, select, text
from sqlalchemy.exc import DBAPIError
from structlog.testing import capture_logs

from producer.hooks.app import Producer
from shared.process.settings import Settings
from shared.store.tables import prepared
from shared.store.tables.database import Database
from shared.store.tables.prepared import MOST, OFTEN, name_of, say_with_next
from tests.support.statements import listening
from worker.app import bootstrap

SUM = text("SELECT 1 * :one + :other")
SAID = select(text("CAST(:said AS TEXT) || ' 100%'"))
UNTYPED = text("SELECT CASE WHEN true THEN :one ELSE :other END + 1")
KEY_DATA = b"K\x00\x00\x00\x0c"


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    with closing(Database(postgres_url, pool_size=1, prepares=True)) as made:
        yield made


def prepared_on(database: Database) -> list[str]:
    """Return what the server keeps for the one connection."""
    with database.transaction() as session:
        return list(session.scalars(text("SELECT statement FROM pg_prepared_statements ORDER BY name")))


def test_a_statement_that_comes_often_is_prepared_and_says_the_same(database: Database) -> None:
    for number in range(2 * OFTEN):
        assert number != OFTEN or " AS SELECT 1 * $1 + $2;" in prepared_on(database)[0]
        with database.transaction() as session:
            assert session.scalar(SUM, {"one": number, "other": 3}) == number + 3


LIMIT = text("SHOW lock_timeout")
LIMITED = "SELECT set_config('lock_timeout', '7', true)"


def limits(database: Database, *, settling: bool = True, often: int = 1) -> list[str | None]:
    """Return the limit in some transactions that were to be told of one with what they say next."""
    found = []
    for _ in range(often):
        with database.transaction() as session:
            if settling:
                say_with_next(session, LIMITED)
            found.append(session.scalar(LIMIT))
    return found


@pytest.mark.parametrize("prepares", [True, False])
def test_what_is_said_with_the_next_statement_holds_for_it_and_ends_with_the_transaction(
    postgres_url: str, *, prepares: bool
) -> None:
    with closing(Database(postgres_url, pool_size=1, prepares=prepares)) as database:
        assert limits(database, often=2 * OFTEN) == ["7ms"] * 2 * OFTEN
        assert limits(database, settling=False) == ["15s"]


def test_what_is_said_with_the_next_statement_is_no_round_trip_of_its_own(database: Database) -> None:
    said = list[str]()
    with listening(database.engine, before_cursor_execute=lambda *given: said.append(given[2])):
        limits(database, often=2)
    assert said == [str(LIMIT)] * 2


def test_whoever_says_nothing_more_leaves_nothing_to_who_comes_next(database: Database) -> None:
    with database.transaction() as session:
        say_with_next(session, LIMITED)
    assert limits(database, settling=False) == ["15s"]


def test_what_comes_before_a_statement_over_many_rows_holds_for_it(database: Database) -> None:
    with database.transaction() as session:
        session.execute(text("CREATE TABLE told (number INTEGER, under TEXT)"))
    under = text("INSERT INTO told VALUES (:number, current_setting('lock_timeout'))")
    with database.transaction() as session:
        say_with_next(session, LIMITED)
        session.execute(under, [{"number": 1}, {"number": 2}])
    with database.transaction() as session:
        assert set(session.scalars(text("SELECT under FROM told"))) == {"7ms"}


def of_a_worker(settings: Settings) -> Database:
    return bootstrap(settings, "5ac1", concurrency=1).store.database


def of_a_producer(settings: Settings) -> Database:
    return Producer(settings, "127.0.0.1", 8080)._store.database


@pytest.mark.parametrize("of_whom", [of_a_worker, of_a_producer])
def test_workers_and_producers_have_what_they_ask_often_prepared(
    postgres_url: str, redis_url: str, of_whom: Callable[[Settings], Database]
) -> None:
    keys = (SecretStr(Fernet.generate_key().decode()),)
    settings = Settings(
        database_url=SecretStr(postgres_url), redis_url=SecretStr(redis_url), secret_keys=keys
    )
    with closing(of_whom(settings.model_copy(update={"allow_unsigned": True}))) as database:
        for _ in range(OFTEN):
            with database.transaction() as session:
                session.scalar(SUM, {"one": 1, "other": 1})
        assert len(prepared_on(database)) == 1


def test_each_new_connection_begins_anew(database: Database) -> None:
    for _ in range(2):
        for _ in range(OFTEN + 1):
            with database.transaction() as session:
                assert session.scalar(SUM, {"one": 1, "other": 1}) == 2
        assert len(prepared_on(database)) == 1
        database.engine.dispose()


@pytest.mark.parametrize("said", ["it's", 'a "quote"', "50% %s %(said)s", "back\\slash", "ümlaut", "", None])
def test_whatever_is_said_arrives_as_it_was(database: Database, said: str | None) -> None:
    for _ in range(OFTEN + 1):
        with database.transaction() as session:
            assert session.scalar(SAID, {"said": said}) == (None if said is None else f"{said} 100%")
    assert len(prepared_on(database)) == 1


def test_a_statement_without_parameters_is_prepared_too(database: Database) -> None:
    for _ in range(OFTEN + 1):
        with database.transaction() as session:
            assert session.scalar(text("SELECT 7 % 4")) == 3
    assert " AS SELECT 7 % 4;" in prepared_on(database)[0]


def test_what_cannot_be_prepared_is_carried_out_all_the_same_and_its_transaction_goes_on(
    database: Database,
) -> None:
    with database.transaction() as session:
        session.execute(text("CREATE TABLE kept (number INTEGER)"))
    with capture_logs() as lines:
        for _ in range(OFTEN + 2):
            with database.transaction() as session:
                session.execute(text("INSERT INTO kept VALUES (1)"))
                assert session.scalar(UNTYPED, {"one": 1, "other": 2}) == 2
    with database.transaction() as session:
        assert session.scalar(text("SELECT count(*) FROM kept")) == OFTEN + 2
    assert [line["event"] for line in lines] == ["a statement is not prepared"]


def test_no_more_are_prepared_than_a_server_should_keep(database: Database) -> None:
    with database.transaction() as session:
        for number in range(MOST + 10):
            for _ in range(OFTEN):
                session.execute(select(literal(number, literal_execute=True)))
    assert len(prepared_on(database)) == MOST


def test_a_value_that_nothing_says_the_type_of_stays_what_it_is(database: Database) -> None:
    """Prepared, it would come back as a text: `false` as one that is true."""
    given: list[tuple[Any, ...]] = [(None, None)] * OFTEN + [(False, 7), ("it", None), (True, "7")]
    for flag, number in given:
        with database.transaction() as session:
            row = session.execute(text("SELECT :flag, :number"), {"flag": flag, "number": number}).one()
        assert tuple(row) == (flag, number)
    assert len(prepared_on(database)) == 1


@pytest.mark.parametrize(
    ("question", "first", "later", "answer"),
    [
        ("SELECT 2 * :it", 1, 0.5, 1.0),
        ("SELECT 7 / :it", 2, 0.5, 14.0),
        ("SELECT 1 + :it", 1, 2**40, 2**40 + 1),
        ("SELECT coalesce(:it, 'none')", "it", None, "none"),
        ("SELECT coalesce(:it, false)", None, True, True),
    ],
)
def test_a_value_of_another_type_than_those_before_counts_as_it_is(
    database: Database, question: str, first: object, later: object, answer: object
) -> None:
    """To the server `2 * $1` is of whole numbers: it would round 0.5."""
    for it in [first] * (OFTEN + 1) + [later]:
        with database.transaction() as session:
            found = session.scalar(text(question), {"it": it})
    assert found == answer
    assert len(prepared_on(database)) == 1


def test_what_was_planned_for_a_small_table_is_planned_anew_when_it_has_grown(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill = "INSERT INTO kept SELECT one FROM generate_series(CAST(:first AS INTEGER), :last) one"
    question = "SELECT number FROM kept WHERE number = :wanted"
    with database.transaction() as session:
        session.execute(text("CREATE TABLE kept (number INTEGER PRIMARY KEY)"))
        session.execute(text(fill), {"first": 1, "last": 20})
        session.execute(text("ANALYZE kept"))
        session.execute(text("ALTER TABLE kept SET (autovacuum_enabled = false)"))
    for _ in range(3 * OFTEN):
        with database.transaction() as session:
            assert session.scalar(text(question), {"wanted": 7}) == 7
    assert "Seq Scan" in plan_of(database)
    with database.transaction() as session:
        session.execute(text(fill), {"first": 21, "last": 30_000})
    assert "Seq Scan" in plan_of(database), "it is not noticed at once"
    monkeypatch.setattr(prepared, "PLANNED_FOR_S", 0.0)
    assert "Index Only Scan" in plan_of(database)


def plan_of(database: Database) -> str:
    """Return how the server carries the one prepared statement out."""
    with database.transaction() as session:
        (name,) = session.scalars(text("SELECT name FROM pg_prepared_statements WHERE generic_plans > 0"))
        return str(session.scalar(text(f"EXPLAIN EXECUTE {name} (7)")))


def test_what_failed_takes_nothing_with_it(database: Database) -> None:
    halves = text("SELECT 1 / CAST(:number AS INTEGER)")
    for _ in range(OFTEN + 1):
        with database.transaction() as session:
            session.execute(halves, {"number": 1})
    with pytest.raises(DBAPIError, match="division by zero"), database.transaction() as session:
        session.execute(halves, {"number": 0})
    with database.transaction() as session:
        assert session.scalar(halves, {"number": 1}) == 1
    assert len(prepared_on(database)) == 1


@pytest.mark.parametrize(
    "meanwhile", ["DEALLOCATE ALL", "ALTER TABLE kept ALTER number TYPE BIGINT USING number + 1"]
)
def test_where_the_server_knows_it_no_more_one_transaction_fails_and_then_all_goes_on_without(
    database: Database, meanwhile: str
) -> None:
    """Somebody's pooler that we did not recognise, or a change of a table under way."""
    with database.transaction() as session:
        session.execute(text("CREATE TABLE kept AS SELECT 1 AS number"))
    question = text("SELECT number FROM kept WHERE number < :most")
    for _ in range(OFTEN + 1):
        with database.transaction() as session:
            session.execute(question, {"most": 9})
    with database.transaction() as session:
        session.execute(text(meanwhile))
    with capture_logs() as lines:
        with pytest.raises(DBAPIError), database.transaction() as session:
            session.execute(question, {"most": 9})
        for _ in range(OFTEN + 1):
            with database.transaction() as session:
                assert session.scalar(question, {"most": 9}) in (1, 2)
    assert [line["event"] for line in lines] == ["no statement is prepared any more"]
    assert prepared_on(database) == []


def test_a_statement_has_one_name_wherever_it_is_prepared(postgres_url: str) -> None:
    """What is asked for on a connection that has become another's is this one, or nothing at all."""
    names = set[str]()
    for others in (0, 3):
        with closing(Database(postgres_url, pool_size=1, prepares=True)) as database:
            for asked in [*(text(f"SELECT {one} + :one") for one in range(others)), SUM]:
                for _ in range(OFTEN):
                    with database.transaction() as session:
                        session.scalar(asked, {"one": 1, "other": 1})
            with database.transaction() as session:
                names.update(
                    session.scalars(
                        text("SELECT name FROM pg_prepared_statements WHERE statement LIKE '%1 * $1%'")
                    )
                )
    assert len(names) == 1


def test_where_one_of_its_name_is_there_already_nothing_is_prepared(database: Database) -> None:
    with database.transaction() as session:
        session.execute(text(f"PREPARE {name_of('SELECT 1 * %(one)s + %(other)s')} AS SELECT 5"))
    for number in range(OFTEN + 3):
        asked = {"one": number, "other": 1}
        if number == OFTEN - 1:
            with pytest.raises(DBAPIError), database.transaction() as session:
                session.scalar(SUM, asked)
        else:
            with database.transaction() as session:
                assert session.scalar(SUM, asked) == number + 1
    assert prepared_on(database) == []


def test_a_text_of_several_statements_is_not_prepared(database: Database) -> None:
    with database.transaction() as session:
        session.execute(text("CREATE TABLE kept (number INTEGER)"))
    for _ in range(OFTEN + 2):
        with database.transaction() as session:
            session.execute(text("INSERT INTO kept VALUES (1); INSERT INTO kept VALUES (2)"))
    with database.transaction() as session:
        assert session.scalar(text("SELECT count(*) FROM kept")) == 2 * (OFTEN + 2)


def test_behind_a_pooler_nothing_is_prepared(postgres_url: str) -> None:
    url = make_url(postgres_url)
    with pooled(str(url.host), url.port or 5432) as port:
        through = url.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)
        with closing(Database(through, pool_size=1, prepares=True)) as database:
            for _ in range(2 * OFTEN):
                with database.transaction() as session:
                    assert session.scalar(SUM, {"one": 1, "other": 1}) == 2
            assert prepared_on(database) == []


@contextmanager
def pooled(host: str, port: int) -> Iterator[int]:
    """Pass connections on as a pooler does: each is told a number that is no server process's."""
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
