"""What is made once and goes straight to the driver says, and fails, as it would by way of SQLAlchemy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy import BigInteger, Boolean, Text, bindparam, cast, func, select, text
from sqlalchemy.exc import DBAPIError, OperationalError, ProgrammingError
from structlog.testing import capture_logs

from shared.store.tables.database import Database
from shared.store.tables.journal import EventState
from shared.store.tables.prepared import KNOWN, OFTEN, say_with_next
from shared.store.tables.types import Json, UtcDateTime, Words
from tests.support.statements import listening

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
ONE = select(cast(bindparam("one"), BigInteger).label("one"))
KEPT = text("CREATE TABLE kept (number BIGINT PRIMARY KEY)")


@pytest.fixture
def direct(postgres_url: str) -> Iterator[Database]:
    with closing(Database(postgres_url, pool_size=3, prepares=True)) as made:
        yield made


def said(database: Database, statement: Any, **parameters: Any) -> list[tuple[Any, ...]]:
    """Return what comes back, after it has come often enough to be prepared where it is."""
    for _ in range(OFTEN + 1):
        with database.transaction() as session:
            found = carry_out(session, statement, parameters)
    return [tuple(row) for row in found]


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
def test_what_is_given_comes_back_as_by_way_of_sqlalchemy(
    direct: Database, postgres_url: str, given: dict[str, Any]
) -> None:
    with closing(Database(postgres_url)) as other:
        theirs = said(other, ECHO, **given)
    ours = said(direct, ECHO, **given)
    assert ours == theirs
    assert [type(one) for one in ours[0]] == [type(one) for one in theirs[0]]


def test_a_row_is_read_by_the_names_of_its_columns(direct: Database) -> None:
    with direct.transaction() as session:
        (row,) = carry_out(session, ECHO, dict.fromkeys(EACH) | {"number": 7})
    assert (row.number, row.words) == (7, None)


def test_what_is_said_with_the_next_statement_holds_for_it(direct: Database) -> None:
    limit = select(func.current_setting("lock_timeout").label("limit"))
    with direct.transaction() as session:
        say_with_next(session, "SELECT set_config('lock_timeout', '7', true)")
        (row,) = carry_out(session, limit)
    assert row.limit == "7ms"


def test_whoever_listens_to_statements_hears_of_it(direct: Database) -> None:
    heard = list[tuple[str, Any]]()
    with (
        listening(direct.engine, before_cursor_execute=lambda *given: heard.append((given[2], given[3]))),
        direct.transaction() as session,
    ):
        carry_out(session, ONE, {"one": 5})
    assert [parameters for _, parameters in heard] == [{"one": 5}]


def test_a_fault_is_that_of_sqlalchemy_and_shows_no_value(direct: Database) -> None:
    statement = select(bindparam("secret", type_=Text())).where(text("nowhere = 1"))
    with pytest.raises(ProgrammingError) as failed, direct.transaction() as session:
        carry_out(session, statement, {"secret": "a secret"})
    assert "a secret" not in str(failed.value)
    assert not failed.value.connection_invalidated


def test_where_a_transaction_fails_nothing_of_it_stays(direct: Database) -> None:
    with direct.transaction() as session:
        session.execute(KEPT)
    with pytest.raises(ZeroDivisionError), direct.transaction() as session:
        session.execute(text("INSERT INTO kept VALUES (1)"))
        assert carry_out(session, ONE, {"one": 1})
        raise ZeroDivisionError
    with direct.transaction() as session:
        assert session.scalar(text("SELECT count(*) FROM kept")) == 0


def test_connections_that_the_server_has_ended_are_made_anew_all_at_once(direct: Database) -> None:
    """The first who notices spares the others: they are of the same time, and as dead."""
    with ExitStack() as stack:
        for _ in range(3):
            carry_out(stack.enter_context(direct.transaction()), ONE, {"one": 1})
    with closing(Database(direct.engine.url.render_as_string(hide_password=False))) as other:
        ended = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
        with other.transaction() as session:
            session.execute(text(ended))
    with pytest.raises(OperationalError) as failed, direct.transaction() as session:
        carry_out(session, ONE, {"one": 1})
    assert failed.value.connection_invalidated
    with ExitStack() as stack:
        for _ in range(3):
            assert carry_out(stack.enter_context(direct.transaction()), ONE, {"one": 1})


def test_where_the_server_knows_it_no_more_one_fails_and_the_others_go_on_without(direct: Database) -> None:
    said(direct, ONE, one=1)
    with direct.transaction() as session:
        assert session.connection().info[KNOWN].prepared
        session.execute(text("DEALLOCATE ALL"))
    with capture_logs() as lines:
        with pytest.raises(DBAPIError), direct.transaction() as session:
            carry_out(session, ONE, {"one": 1})
        assert said(direct, ONE, one=2) == [(2,)]
    assert [line["event"] for line in lines] == ["no statement is prepared any more"]
