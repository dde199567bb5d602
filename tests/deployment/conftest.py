"""What the tests of a deployment need of this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
CANNOT = 3
"""Exit code of what cannot be done on this machine, through no fault of ours."""
HERE = Path(__file__).parent
_left_out: list[str] = []
_measured: list[str] = []


def leave_out(reason: str) -> NoReturn:
    """Skip what cannot be had here; the whole run ends with `CANNOT` then, since nothing was shown."""
    _left_out.append(reason)
    pytest.skip(reason)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Say by the exit code that something could not be run."""
    if exitstatus == 0 and _left_out:
        session.exitstatus = CANNOT


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was measured."""
    for line in _measured:
        terminalreporter.write_line(line)


@pytest.fixture
def report() -> list[str]:
    """Lines to be shown after the run."""
    return _measured


@pytest.fixture(scope="session")
def unpack(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Unpacks Debian's packages; skips where they cannot be had. Packages that are there already are not fetched."""
    unpacked = Path(os.environ.get("DEPLOY_TOOLS") or tmp_path_factory.mktemp("tools"))

    def them(*packages: str) -> Path:
        missing = [one for one in packages if not (unpacked / "usr" / "share" / "doc" / one).exists()]
        ended = subprocess.run(
            [ROOT / "deploy" / "unpack", unpacked, *missing] if missing else ["true"],
            capture_output=True,
            check=False,
        )
        if ended.returncode == CANNOT:
            leave_out(f"{packages[0]}: {ended.stderr.decode().strip()}")
        assert ended.returncode == 0, ended.stderr
        return unpacked

    return them


@pytest.fixture(scope="session")
def tool(unpack: Callable[..., Path]) -> Callable[[str, str], Path]:
    """Finds a program by its name, in a Debian package where it is not installed; skips where it cannot be had."""

    def find(name: str, package: str) -> Path:
        if found := shutil.which(name):
            return Path(found)
        unpacked = unpack(package)
        return Path(str(shutil.which(name, path=f"{unpacked}/usr/bin:{unpacked}/usr/sbin")))

    return find


@pytest.fixture(scope="session")
def docker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which a Docker engine answers, with what TOOLS names unpacked; skips where none can be had."""
    work = Path(os.environ.get("DEPLOY_ENGINE") or tmp_path_factory.mktemp("engine"))
    ended = subprocess.run([HERE / "engine", "up", work], capture_output=True, text=True, check=False)
    if ended.returncode == CANNOT:
        leave_out(f"no Docker engine: {ended.stderr.strip()}")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    answers = json.loads(ended.stdout.splitlines()[-1])
    try:
        yield {**os.environ, **answers, "DOCKER_BUILDKIT": "1", "TOOLS": str(work / "tools")}
    finally:
        if "DEPLOY_ENGINE" not in os.environ:
            subprocess.run([HERE / "engine", "down", work], check=True)


def run(environment: dict[str, str], *command: str | Path, given: str = "", cwd: Path = ROOT) -> str:
    """Run a program to its successful end; return what it wrote."""
    ended = subprocess.run(
        command,
        env=environment,
        cwd=cwd,
        input=given,
        capture_output=True,
        text=True,
        timeout=590,
        check=False,
    )
    shown = " ".join(str(one) for one in command[-6:])
    assert ended.returncode == 0, f"{shown}: {ended.stdout[-3000:]}{ended.stderr[-3000:]}"
    return ended.stdout
