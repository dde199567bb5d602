"""`--help` explains every command, starts quickly and needs no environment."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from producer.cli.commands.event import State
from producer.cli.main import app
from shared.store.tables.journal import EventState

GROUPS = {
    "account": ["add", "list", "disable", "password", "link", "token", "tokens"],
    "article": ["show", "check"],
    "audit": ["list"],
    "author": ["list", "correct"],
    "config": ["show", "set", "set-api-key", "rotate-keys"],
    "event": ["list", "replay", "send"],
    "hold": ["list", "resolve"],
    "mapping": ["add", "list", "remove", "export", "import"],
    "metadata": ["sync"],
    "notification": ["remove", "set", "show", "test"],
    "project": ["create"],
    "restore": ["begin", "end"],
    "secret": ["key", "token", "webhook"],
    "systemd": ["install"],
    "template": [
        *("activate", "deactivate", "delete", "dryrun", "fields", "generate", "history", "list", "preview"),
        *("rollback", "save", "show", "variables"),
    ],
    "ticket": ["forget", "highest", "history"],
    "trial": ["off", "on", "show"],
    "user": ["forget", "list", "map", "unmap"],
}
ALONE = ["migrate", "grants", "producer", "console", "worker", "beat", "doctor", "hours", "reconcile"]
COMMANDS = [*ALONE, *(f"{group} {name}" for group, names in GROUPS.items() for name in names)]
LONGEST = 60

PROGRAM: Any = typer.main.get_command(app)
ROOT = Path(__file__).resolve().parents[3]


def listed(command: Any) -> dict[str, Any]:
    return {name: one for name, one in command.commands.items() if not one.hidden}


def test_these_are_the_commands() -> None:
    groups = {name: sorted(listed(one)) for name, one in listed(PROGRAM).items() if hasattr(one, "commands")}
    assert groups == {name: sorted(names) for name, names in GROUPS.items()}
    assert set(listed(PROGRAM)) == {*GROUPS, *ALONE}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = CliRunner().invoke(app, [*command.split(), "--help"])
    assert result.exit_code == 0
    assert f"deskbridge {command}" in result.stdout
    assert "Examples" in result.stdout


@pytest.mark.parametrize("command", [*GROUPS, *COMMANDS])
def test_the_first_line_of_help_is_a_short_sentence(command: str) -> None:
    one = PROGRAM
    for name in command.split():
        one = one.commands[name]
    first = one.help.split("\n\n")[0]
    assert first.endswith(".")
    assert len(first) <= LONGEST, first


@pytest.mark.parametrize("command", COMMANDS)
def test_every_argument_and_option_is_explained(command: str) -> None:
    one = PROGRAM
    for name in command.split():
        one = one.commands[name]
    assert [param.name for param in one.params if not param.help] == []


def test_the_list_of_commands_is_sorted_by_task_and_shows_every_sentence() -> None:
    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert re.findall(r"─ (\w[\w ]*) ─", shown)[1:] == ["Set up", "Run", "Watch", "Fix"]
    for name in (*GROUPS, *ALONE):
        assert re.search(rf"^│ {name} +[A-Z].*\. +│$", shown, re.MULTILINE), name


@pytest.mark.parametrize("command", COMMANDS)
def test_an_example_is_safe_to_paste(command: str) -> None:
    """It overwrites no secret, skips no confirmation, and contains nothing that a shell treats as a redirection."""
    one = PROGRAM
    for name in command.split():
        one = one.commands[name]
    for line in re.findall(r"\[cyan\](.+?)\[/cyan\]", one.epilog):
        assert line.startswith(f"deskbridge {command}"), line
        assert "--yes" not in line
        assert not re.search(r"<\w+>|…|\.\.\.|> *secrets", line), line


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
    "arguments",
    [
        ["nonsense"],
        ["mapping", "add"],
        ["event", "list", "--limit", "x"],
        ["ticket", "history", "0"],
        ["ticket", "history", "9" * 30],
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
