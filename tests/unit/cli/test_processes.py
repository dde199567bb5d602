"""The commands `producer`, `console`, `worker` and `beat`: what they check and what they start."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from producer.http.connections import GuardedProtocol
from tests.unit.cli.conftest import Shell


@pytest.fixture(autouse=True)
def begun_anew(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the list of programs, with their environment, that would have replaced the process."""
    found: list[Any] = []

    def begin(_path: str, arguments: list[str], environ: dict[str, str]) -> None:
        found.append((arguments, environ))
        raise SystemExit(0)

    monkeypatch.setattr("os.execve", begin)
    return found


@pytest.fixture
def keyless(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Return a shell whose environment has none of the secrets that the producer must not have."""
    monkeypatch.delenv("DESKBRIDGE_SECRET_KEYS")
    return shell


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the list of what would have been started."""
    found: list[Any] = []
    monkeypatch.setattr("os.execv", lambda path, arguments: found.append((path, arguments)))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("shared.telemetry.logs.log_crashes", lambda: None)
    monkeypatch.setattr("uvicorn.run", lambda application, **options: found.append((application, options)))
    return found


def test_worker_and_beat_become_processes_of_their_own(shell: Shell, started: list[Any]) -> None:
    shell.do("worker", "--concurrency", "3")
    shell.do("beat")
    assert started == [
        (sys.executable, [sys.executable, "-m", "worker", "worker", "--concurrency", "3"]),
        (sys.executable, [sys.executable, "-m", "worker", "beat"]),
    ]


def test_the_producer_listens_where_it_is_told(keyless: Shell, started: list[Any]) -> None:
    keyless.do("producer", "--host", "127.0.0.2", "--port", "8099")
    ((_, options),) = started
    assert (options["host"], options["port"], options["access_log"]) == ("127.0.0.2", 8099, False)


def test_the_producer_refuses_to_start_unsigned(
    keyless: Shell, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DESKBRIDGE_WEBHOOK_SECRETS")
    assert "deskbridge secret webhook" in keyless.fail("producer")
    monkeypatch.setenv("DESKBRIDGE_ALLOW_UNSIGNED", "1")
    assert "loopback" in keyless.fail("producer", "--host", "0.0.0.0")  # noqa: S104
    keyless.do("producer")
    assert len(started) == 1


def test_the_producer_starts_in_an_environment_that_it_shares_with_the_worker(
    keyless: Shell, started: list[Any], begun_anew: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    others = {
        "GLPI_API_URL": "https://glpi.example.org",
        "GLPI_API_CLIENT_ID": "client",
        "GLPI_API_CLIENT_SECRET_FILE": "/run/secrets/none-of-the-producers",
        "GLPI_API_USER": "deskbridge",
        "GLPI_API_PASSWORD": "hidden-word",
        "PROXY_URL": "http://desk:hidden-word@proxy.example.org",
        "CA_FILE": "/root/none-of-the-producers",
        "SECRET_KEYS": "hidden-word",
        "OIDC_CLIENT_SECRET": "hidden-word",
    }
    for name, value in others.items():
        monkeypatch.setenv(f"DESKBRIDGE_{name}", value)
    assert "hidden-word" not in keyless.do("producer")
    ((arguments, environ),) = begun_anew
    assert arguments[1:4] == ["-m", "producer.cli.main", "producer"]
    assert not [name for name in others if f"DESKBRIDGE_{name}" in environ]
    for name in others:
        monkeypatch.delenv(f"DESKBRIDGE_{name}")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    keyless.do("producer")
    assert len(started) == 1


def test_a_port_in_use_is_a_failure_of_1(keyless: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_use(*_: Any, **__: Any) -> None:
        sys.exit(3)

    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("shared.telemetry.logs.log_crashes", lambda: None)
    monkeypatch.setattr("uvicorn.run", in_use)
    assert keyless.type("producer").exit_code == 1


@pytest.mark.parametrize("command", ["producer", "console"])
def test_a_database_without_tables_is_refused(
    keyless: Shell, started: list[Any], command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command == "console":
        monkeypatch.setenv("DESKBRIDGE_CONSOLE_TOKENS", keyless.do("secret", "token").strip())
    with keyless.store.database.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE alembic_version")
    assert "deskbridge migrate" in keyless.fail(command)
    assert started == []


def test_the_console_listens_where_it_is_told(shell: Shell, started: list[Any]) -> None:
    shell.do("console", "--port", "8097")
    ((_, options),) = started
    assert (options["host"], options["port"], options["access_log"]) == ("127.0.0.1", 8097, False)


@pytest.mark.promise("SEC-35")
@pytest.mark.parametrize("name", ["SECRET_KEYS", "SECRET_KEYS_FILE", "CONSOLE_TOKENS", "CONSOLE_TOKENS_FILE"])
def test_the_producer_begins_anew_without_the_secrets_of_others(
    keyless: Shell, started: list[Any], begun_anew: list[Any], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(f"DESKBRIDGE_{name}", "hidden-word")
    result = keyless.type("producer", "--host", "127.0.0.2", "--port", "8099")
    ((arguments, environ),) = begun_anew
    assert arguments[1:] == [
        "-m",
        "producer.cli.main",
        "producer",
        "--host",
        "127.0.0.2",
        "--port",
        "8099",
    ]
    assert f"DESKBRIDGE_{name}" not in environ
    assert "DESKBRIDGE_WEBHOOK_SECRETS" in environ
    assert started == [], "it must not listen with them"
    assert f"DESKBRIDGE_{name}" in result.stderr
    assert "hidden-word" not in result.stderr


def test_the_producer_is_served_within_limits(
    keyless: Shell, started: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    keyless.do("producer")
    monkeypatch.setenv("DESKBRIDGE_TRUSTED_PROXIES", "192.0.2.1")
    keyless.do("producer")
    (_, alone), (_, behind_a_proxy) = started
    assert (alone["http"].func, alone["ws"], alone["server_header"]) == (GuardedProtocol, "none", False)
    assert (alone["proxy_headers"], behind_a_proxy["proxy_headers"]) == (False, True)
    assert behind_a_proxy["forwarded_allow_ips"] == ["192.0.2.1/32"]
