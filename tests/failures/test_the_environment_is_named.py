"""In a shell without the installation's environment, commands name that problem and create no database."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.fork_server import ForkServer

COMMANDS = [
    ["event", "list"],
    ["ticket", "history", "4711"],
    ["hold", "list"],
    ["mapping", "list"],
    ["config", "show"],
    ["doctor"],
    ["event", "replay", "--state", "failed"],
]


Run = Callable[..., subprocess.CompletedProcess[str]]


def from_nothing(where: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "producer.cli.main", *arguments]
    return subprocess.run(
        command, cwd=where, env=environ, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def run(request: pytest.FixtureRequest) -> Run:
    """Provide a function that runs a command in a directory, with only the given environment variables."""
    if sys.platform != "linux":
        return from_nothing
    fork_server: ForkServer = request.getfixturevalue("shared_fork_server")
    return lambda where, *arguments, **environ: fork_server.run(arguments, environ, where, 60)


def found(answer: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(answer.stdout)["error"]
    return told


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_without_the_environment_a_command_says_so_and_makes_no_file(
    tmp_path: Path, command: list[str], run: Run
) -> None:
    answer = run(tmp_path, *command)
    told = answer.stdout + answer.stderr
    assert answer.returncode == 1
    assert "Load your environment file" in told
    assert "var/deskbridge.sqlite3" in told
    assert list(tmp_path.iterdir()) == []


def test_a_database_that_does_not_exist_is_named_and_not_made(tmp_path: Path, run: Run) -> None:
    url = f"sqlite:///{tmp_path}/other/place.sqlite3"
    answer = run(tmp_path, "events", "--json", DESKBRIDGE_DATABASE_URL=url)
    assert found(answer)["code"] == "database_missing"
    assert f"{tmp_path}/other/place.sqlite3" in found(answer)["message"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("process", ["producer", "console"])
def test_no_process_makes_a_database(tmp_path: Path, process: str, run: Run) -> None:
    answer = run(tmp_path, process, DESKBRIDGE_REDIS_URL="redis://127.0.0.1:1/0")
    assert answer.returncode != 0
    assert "does not exist" in answer.stdout + answer.stderr
    assert list(tmp_path.iterdir()) == []


def test_migrate_makes_the_database_and_the_doctor_says_that_it_is_the_default(
    tmp_path: Path, run: Run
) -> None:
    assert run(tmp_path, "migrate").returncode == 0
    assert (tmp_path / "var" / "deskbridge.sqlite3").exists()
    told = {one["check"]: one for one in json.loads(run(tmp_path, "doctor", "--json").stdout)}
    assert told["database"]["code"] == "database_of_default"
    assert "load its environment file" in told["database"]["todo"]
