"""Every command with --json prints one document even if it fails: {"error": {code, params, message}}."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from sqlalchemy import text
from sqlalchemy.exc import OperationalError, ProgrammingError

from producer.admin.migrations.upgrading import upgrade
from producer.admin.presenters.failures import why
from producer.cli.main import app
from shared.notices.system_refusals import SystemRefusal
from shared.store.tables.database import Database
from tests.unit.cli.conftest import Shell

VALUES = {
    "kind": "entity",
    "helpdesk_id": "1",
    "tracker_project_id": "1",
    "file": "/nowhere/at/all",
    "--month": "2026-11",
    "--name": "North",
    "--identifier": "north",
    "ticket_id": "4711",
    "number": "7",
    "--operation": "issue.create",
    "record_id": "KB-HINT-999",
    "directory": "/nowhere/at/all",
}
FURTHER = {
    "event replay": ["1"],
    "user forget": ["7"],
    "event send": ["/nowhere/at/all"],
    "template save": ["--operation", "issue.create", "--name", "x", "--file", "-"],
    "template preview": ["7"],
    "template dryrun": ["7"],
}
NEED_NO_DATABASE = {"event send", "article show", "article check"}


def commands(command: Any, *path: str) -> Iterator[tuple[str, Any]]:
    for name, below in getattr(command, "commands", {}).items():
        if not below.hidden:
            yield from commands(below, *path, name)
    if any("--json" in option.opts for option in getattr(command, "params", ())):
        yield " ".join(path), command


WITH_JSON = dict(commands(typer.main.get_command(app)))


def typed(name: str) -> list[str]:
    """Return the words of a command with its required arguments and options."""
    line = name.split()
    for option in WITH_JSON[name].params:
        if option.required:
            flag = option.opts[0] if option.opts[0].startswith("--") else None
            line += [flag, VALUES[flag]] if flag else [VALUES[option.name]]
    return [*line, *FURTHER.get(name, ())]


def error_of(shell: Shell, *line: str, exit_code: int) -> dict[str, Any]:
    result = shell.type(*line, "--json")
    assert result.exit_code == exit_code, result.output
    assert result.stderr == ""
    document = json.loads(result.stdout)
    assert set(document) == {"error"}
    assert set(document["error"]) == {"code", "params", "message"}
    found: dict[str, Any] = document["error"]
    return found


def test_most_commands_have_it() -> None:
    assert len(WITH_JSON) > 20


@pytest.mark.parametrize("name", WITH_JSON)
def test_what_is_typed_wrong_is_a_document(shell: Shell, name: str) -> None:
    error = error_of(shell, *typed(name), "--no-such-option", exit_code=2)
    assert error["code"] == SystemRefusal.WRONG_USAGE
    assert "--no-such-option" in error["message"]


@pytest.mark.parametrize("name", WITH_JSON)
def test_a_wrong_environment_is_a_document(shell: Shell, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESKBRIDGE_NO_SUCH_VARIABLE", "1")
    needs_none = name.startswith("article")
    error = error_of(shell, *typed(name), exit_code=1 if name == "article show" else 2)
    assert needs_none or error["code"] == SystemRefusal.VARIABLES_UNKNOWN
    assert needs_none or error["params"]["variables"] == ["DESKBRIDGE_NO_SUCH_VARIABLE"]


@pytest.mark.parametrize("name", sorted(WITH_JSON.keys() - NEED_NO_DATABASE))
def test_a_database_that_is_down_is_a_document(
    shell: Shell, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(_database: object, **_: object) -> None:
        raise OperationalError("SELECT", {}, Exception("no route"))

    monkeypatch.setattr("shared.store.tables.schema.require_current", down)
    monkeypatch.setattr("producer.admin.doctor.examination.examine", down)
    error = error_of(shell, *typed(name), exit_code=1)
    assert (error["code"], error["params"]) == (SystemRefusal.DATABASE_DOWN, {"error": "no route"})


def test_a_fault_of_ours_and_an_interruption_are_documents(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for raised, code in (
        (ZeroDivisionError("x"), SystemRefusal.UNEXPECTED_ERROR),
        (KeyboardInterrupt(), SystemRefusal.STOPPED_BY_USER),
    ):

        def fail(*_: object, error: BaseException = raised, **__: object) -> None:
            raise error

        monkeypatch.setattr("shared.store.tables.schema.require_current", fail)
        assert error_of(shell, "mapping", "list", exit_code=1)["code"] == code


def code_of(database: Database, statement: str, **values: object) -> str:
    """Return the code of the error with which a statement fails."""
    with pytest.raises(OperationalError) as failed, database.engine.connect() as connection:
        connection.execute(text(statement), values)
    return why(failed.value).code


def test_a_table_that_is_missing_is_told_by_the_databases_code_and_no_word_of_it(tmp_path: Path) -> None:
    """SQLite has one code for every refused statement: if every table exists, the cause is something else."""
    database = Database(f"sqlite:///{tmp_path}/x.sqlite3")
    missing = "SELECT * FROM no_such_table"
    assert code_of(database, missing) == SystemRefusal.DATABASE_NOT_MIGRATED
    upgrade(database)
    with database.engine.begin() as connection:
        connection.execute(text("ALTER TABLE journal RENAME COLUMN payload TO of_before"))
    assert code_of(database, "SELECT payload FROM journal") == SystemRefusal.DATABASE_NOT_MIGRATED
    with database.engine.begin() as connection:
        connection.execute(text("ALTER TABLE journal RENAME COLUMN of_before TO payload"))
    many = " OR ".join(f"1 = :n{number}" for number in range(40_000))
    for statement in ("ATTACH 'x' AS main", missing, f"SELECT 1 WHERE {many}"):
        values = {f"n{number}": 1 for number in range(40_000)} if statement.endswith(many) else {}
        assert code_of(database, statement, **values) == SystemRefusal.DATABASE_FAILED
    database.close()


def test_of_postgresql_a_missing_table_has_a_code_and_a_missing_right_another() -> None:
    for state, code in (
        ("42P01", SystemRefusal.DATABASE_NOT_MIGRATED),
        ("42703", SystemRefusal.DATABASE_NOT_MIGRATED),
        ("42501", SystemRefusal.DATABASE_FAILED),
    ):
        theirs = Exception("somebody's words")
        theirs.pgcode = state  # type: ignore[attr-defined]
        assert why(ProgrammingError("SELECT", {}, theirs)).code == code


def test_of_a_database_that_is_away_no_word_is_read() -> None:
    away = OperationalError("SELECT", {}, Exception("no such table: it is away"))
    assert why(away).code == SystemRefusal.DATABASE_DOWN


def test_without_json_nothing_is_printed_on_standard_output(shell: Shell) -> None:
    assert "no such option" in shell.fail("mapping", "list", "--no-such-option", code=2).lower()
