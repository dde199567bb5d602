"""`--help` explains every command, quickly, and without any environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from producer.cli.events import State
from producer.cli.main import app
from shared.store.tables.journal import EventState

COMMANDS = [
    "migrate",
    "grants",
    "make-key",
    "make-secret",
    "make-token",
    "config",
    "config show",
    "config set",
    "config set-api-key",
    "config rotate-keys",
    "account",
    "account add",
    "account list",
    "account disable",
    "account password",
    "account link",
    "account token",
    "account tokens",
    "link",
    "unlink",
    "create-project",
    "links",
    "export-links",
    "import-links",
    "map-user",
    "unmap-user",
    "users",
    "sync-metadata",
    "producer",
    "console",
    "worker",
    "beat",
    "send",
    "events",
    "replay",
    "held",
    "resolve",
    "recover",
    "forget-link",
    "forget",
    "trace",
    "doctor",
    "knowledge",
    "knowledge validate",
]

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = CliRunner().invoke(app, [*command.split(), "--help"])
    assert result.exit_code == 0
    assert f"deskbridge {command}" in result.stdout
    assert "Examples" in result.stdout or command in ("config", "knowledge", "account")


def test_the_list_of_commands_gives_each_a_summary_of_one_line() -> None:
    listed = CliRunner().invoke(app, ["--help"]).stdout
    for command in COMMANDS:
        if " " not in command:
            assert any(
                line.startswith(f"│ {command} ") and line.rstrip(" │").endswith(".")
                for line in listed.splitlines()
            ), command


def test_help_needs_no_environment_and_loads_nothing_that_takes_long() -> None:
    slow = {
        "alembic",
        "celery",
        "cryptography",
        "fastapi",
        "redis",
        "requests",
        "sqlalchemy",
        "uvicorn",
    }
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "producer.cli.main", "--help"],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={},
    )
    loaded = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}
    assert "typer" in loaded
    assert loaded & slow == set()


def test_the_states_that_can_be_typed_are_those_of_the_journal() -> None:
    assert State.__args__ == tuple(EventState)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["link"], ["events", "--limit", "x"], ["trace", "0"], ["trace", "9" * 30]]
)
def test_wrong_usage_exits_with_2(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
