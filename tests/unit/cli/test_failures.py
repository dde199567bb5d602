"""Every failure is one line on standard error with a documented exit code, without a traceback or a secret."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from redis.exceptions import ConnectionError as RedisDown
from typer.testing import CliRunner

from producer.cli.main import app
from shared.store.configuration.mappings import ProjectMappings
from tests.unit.cli.conftest import Shell


def test_an_unknown_variable_is_wrong_usage(environment: Callable[..., None]) -> None:
    environment(NOPE="1")
    result = CliRunner().invoke(app, ["mapping", "list"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "DESKBRIDGE_NOPE" in result.stderr


def test_a_database_that_is_down_is_said_so_without_its_password(environment: Callable[..., None]) -> None:
    environment(DATABASE_URL="postgresql+psycopg2://u:s3cr3t@127.0.0.1:1/x")
    result = CliRunner().invoke(app, ["mapping", "list"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "cannot use the database" in result.stderr
    assert "s3cr3t" not in result.stderr


def test_tables_that_are_missing_are_said_so(shell: Shell) -> None:
    with shell.store.database.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE entity_link")
    assert "deskbridge migrate" in shell.fail("mapping", "list")


def test_a_database_of_a_newer_version_is_refused(shell: Shell) -> None:
    with shell.store.database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    assert "upgrade deskbridge" in shell.fail("mapping", "list")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RedisDown("refused"), "cannot reach Redis"),
        (KeyboardInterrupt(), "stopped"),
        (PermissionError(13, "Permission denied", "/x"), "/x: Permission denied"),
        (KeyError("surprise"), "please report it: KeyError"),
    ],
)
def test_errors_end_as_one_line(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, error: BaseException, words: str
) -> None:
    def fail(_self: ProjectMappings) -> None:
        raise error

    monkeypatch.setattr(ProjectMappings, "all", fail)
    complaint = shell.fail("mapping", "list")
    assert words in complaint
    assert len(complaint.splitlines()) == 1


def test_a_reader_that_has_left_is_no_noise(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(_self: ProjectMappings) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("producer.cli.main._silence", lambda: None)
    monkeypatch.setattr(ProjectMappings, "all", leave)
    assert shell.fail("mapping", "list") == ""
