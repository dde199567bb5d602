"""producer, console, worker, beat: what they check and what they start."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.unit.commands.conftest import Shell


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what was started instead of starting it."""
    found: list[Any] = []
    monkeypatch.setattr("os.execv", lambda path, arguments: found.append((path, arguments)))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("uvicorn.run", lambda application, **options: found.append((application, options)))
    return found


def test_worker_and_beat_become_processes_of_their_own(shell: Shell, started: list[Any]) -> None:
    shell.do("worker", "--concurrency", "3")
    shell.do("beat")
    assert started == [
        (sys.executable, [sys.executable, "-m", "worker", "worker", "--concurrency", "3"]),
        (sys.executable, [sys.executable, "-m", "worker", "beat"]),
    ]


def test_the_producer_listens_where_it_is_told(shell: Shell, started: list[Any]) -> None:
    shell.do("producer", "--host", "127.0.0.2", "--port", "8099")
    ((_, options),) = started
    assert (options["host"], options["port"], options["access_log"]) == ("127.0.0.2", 8099, False)


def test_the_producer_refuses_to_start_unsigned(
    shell: Shell, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DESKBRIDGE_WEBHOOK_SECRETS")
    assert "make-secret" in shell.fail("producer")
    monkeypatch.setenv("DESKBRIDGE_ALLOW_UNSIGNED", "1")
    assert "loopback" in shell.fail("producer", "--host", "0.0.0.0")  # noqa: S104
    shell.do("producer")
    assert len(started) == 1


def test_a_port_in_use_is_a_failure_of_1(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_use(*_: Any, **__: Any) -> None:
        sys.exit(3)

    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("uvicorn.run", in_use)
    assert shell.type("producer").exit_code == 1


@pytest.mark.parametrize("command", ["producer", "worker"])
def test_a_database_without_tables_is_refused(shell: Shell, started: list[Any], command: str) -> None:
    with shell.store.database.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE alembic_version")
    assert "deskbridge migrate" in shell.fail(command)
    assert started == []


def test_the_console_needs_a_token_and_listens_where_it_is_told(
    shell: Shell, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "make-token" in shell.fail("console")
    monkeypatch.setenv("DESKBRIDGE_CONSOLE_TOKENS", shell.do("make-token").strip())
    shell.do("console", "--port", "8097")
    ((_, options),) = started
    assert (options["host"], options["port"], options["access_log"]) == ("127.0.0.1", 8097, False)
