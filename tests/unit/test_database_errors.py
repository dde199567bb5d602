"""The database's error texts may quote people's texts, so only the kind of an error is logged."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import structlog
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from starlette.requests import Request

from producer.console.refusals import _answer
from producer.http.problems import Problem
from producer.intake.app import _as_unwritable, append
from shared.store.tables.database import Database
from worker.periodic import failures_put_off

SAID = OperationalError(
    "INSERT INTO journal …",
    {"payload": "hidden-word"},
    Exception("DETAIL: Failing row contains (hidden-word)"),
)


class Broken:
    """A store whose database refuses every transaction."""

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        raise SAID
        yield


@pytest.mark.promise("SEC-36")
def test_the_producer_logs_the_kind_only(caplog: pytest.LogCaptureFixture) -> None:
    with structlog.testing.capture_logs() as logged, pytest.raises(Problem) as refused, _as_unwritable():
        append(Broken(), [])  # type: ignore[arg-type]
    assert logged or caplog.records  # a logger that was used before keeps its earlier configuration
    assert "hidden-word" not in f"{logged} {caplog.text} {vars(refused.value)} {refused.value.__cause__}"


@pytest.mark.parametrize(
    ("code", "words", "logged"),
    [
        ("53100", "could not extend file: No space left on device", True),
        ("25006", "cannot execute INSERT in a read-only transaction", True),
        ("23514", "DETAIL: Failing row contains (hidden-word)", False),
    ],
)
def test_the_producer_logs_what_the_database_says_of_itself(
    code: str, words: str, logged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cause = Exception(words)
    cause.pgcode = code  # type: ignore[attr-defined]
    lines: list[dict[str, Any]] = []
    monkeypatch.setattr("producer.intake.app.log.error", lambda _, **more: lines.append(more))
    with pytest.raises(Problem), _as_unwritable():
        raise OperationalError("INSERT", {}, cause)
    assert [one["said"] for one in lines] == [words if logged else None]


@pytest.mark.promise("SEC-36")
def test_the_console_logs_the_kind_only(caplog: pytest.LogCaptureFixture) -> None:
    request = Request({"type": "http", "method": "GET", "path": "/", "headers": [], "server": ("x", 1)})
    with structlog.testing.capture_logs() as logged:
        answer = asyncio.run(_answer(request, SAID))
    assert logged or caplog.records
    assert "hidden-word" not in f"{logged} {caplog.text} {bytes(answer.body)!r}"


@pytest.mark.promise("SEC-36")
def test_the_worker_logs_the_kind_only(caplog: pytest.LogCaptureFixture) -> None:
    with structlog.testing.capture_logs() as logged, failures_put_off():
        raise SAID
    assert logged or caplog.records
    assert "hidden-word" not in f"{logged} {caplog.text}"


@pytest.mark.parametrize(
    ("code", "is_said"), [("53100", True), ("25006", True), ("23505", False), ("22P02", False)]
)
def test_what_the_database_says_of_itself_is_logged_and_of_a_row_is_not(code: str, is_said: bool) -> None:
    class Told(Exception):
        pgcode = code

    error = OperationalError(
        "INSERT INTO journal …", {}, Told("could not extend file: No space left on device")
    )
    with structlog.testing.capture_logs() as logged, failures_put_off():
        raise error
    assert ("No space left on device" in f"{logged}") == is_said


def test_errors_carry_no_parameters(tmp_path: Any) -> None:
    database = Database(f"sqlite:///{tmp_path}/x.sqlite3")
    with pytest.raises(OperationalError) as failure, database.transaction() as session:
        session.execute(text("INSERT INTO no_such_table VALUES (:title)"), {"title": "hidden-word"})
    database.close()
    assert "hidden-word" not in f"{failure.value} {failure.value!r}"
