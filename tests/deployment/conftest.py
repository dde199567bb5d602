"""Shared by the deployment tests: a Docker engine, a wheel and a folder of tools, if this machine can have them."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
CANNOT = 3
"""Exit code if something cannot be done on this machine for reasons outside deskbridge."""

LEFT_OUT = 33
"""Exit code of a run with parts left out. pytest uses 3 for its own errors; the script `run` turns this code into 3."""
CANNOT_BE_HAD = "cannot be had here: "
IMAGE = "deskbridge:test"
WORK = "DEPLOY_WORK"
"""Variable with a folder to keep for the next run, with its engine running; unset: each run uses a new folder."""
MEMORY = Path("/dev/shm")  # noqa: S108 (a file system in memory; each run makes a folder of its own in it)
ENOUGH_BYTES = 8 << 30
_left_out: list[str] = []
_measured: list[str] = []
_made: list[Path] = []


def leave_out(reason: str) -> NoReturn:
    """Skip a test that cannot run here; the whole run then ends with `LEFT_OUT`, since it did not test everything."""
    pytest.skip(CANNOT_BE_HAD + reason)


def pytest_configure(config: pytest.Config) -> None:
    """Choose the folder that all processes of this run share; it is in memory if there is enough of it."""
    if not hasattr(config, "workerinput") and WORK not in os.environ:
        is_roomy = MEMORY.is_dir() and min(_free_bytes(), shutil.disk_usage(MEMORY).free) > ENOUGH_BYTES
        _made.append(
            Path(tempfile.gettempdir() if not is_roomy else MEMORY) / f"deskbridge-deploy-{os.getpid()}"
        )
        os.environ[WORK] = str(_made[0])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Record the tests that could not run, in whichever process."""
    if report.skipped and isinstance(report.longrepr, tuple) and CANNOT_BE_HAD in report.longrepr[2]:
        _left_out.append(report.longrepr[2])


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Stop what was started for this run, and report by the exit code if a part could not run."""
    for work in _made:
        if work.exists():
            subprocess.run([HERE / "engine", "down", work], check=True)
            shutil.rmtree(work)
    if exitstatus == 0 and _left_out:
        session.exitstatus = LEFT_OUT


def _free_bytes() -> int:
    told = Path("/proc/meminfo").read_text(encoding="ascii")
    return int(told.partition("MemAvailable:")[2].split()[0]) * 1024


@contextmanager
def alone(name: str) -> Iterator[Path]:
    """Let one process of this run at a time use the folder that they share."""
    work = Path(os.environ[WORK])
    work.mkdir(mode=0o755, parents=True, exist_ok=True)
    with (work / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield work


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the measured values."""
    for line in _measured:
        terminalreporter.write_line(line)


@pytest.fixture
def report() -> list[str]:
    """Lines to print after the run."""
    return _measured


@pytest.fixture(scope="session")
def unpack() -> Callable[..., Path]:
    """Unpacks packages of Debian, and downloads only those that are missing; skips if they are unavailable."""

    def them(*packages: str) -> Path:
        with alone("tools") as work:
            unpacked = work / "unpacked"
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
    """Finds a program by its name, or in a Debian package if it is not installed; skips if that is unavailable."""

    def find(name: str, package: str) -> Path:
        if found := shutil.which(name):
            return Path(found)
        unpacked = unpack(package)
        return Path(str(shutil.which(name, path=f"{unpacked}/usr/bin:{unpacked}/usr/sbin")))

    return find


@pytest.fixture(scope="session")
def docker() -> dict[str, str]:
    """The environment to reach a Docker engine, with TOOLS as the folder of its tools; skips if none is available."""
    work = Path(os.environ[WORK])
    ended = subprocess.run([HERE / "engine", "up", work], capture_output=True, text=True, check=False)
    if ended.returncode == CANNOT:
        leave_out(f"a Docker engine: {ended.stderr.strip()}")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    answers = json.loads(ended.stdout.splitlines()[-1])
    # the `make` that a test runs must not inherit the variables of the `make` that runs the tests
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return {**environment, **answers, "DOCKER_BUILDKIT": "1", "TOOLS": str(work / "tools")}


@pytest.fixture(scope="session")
def base(docker: dict[str, str]) -> str:
    """The base image of ours."""
    return _image(docker, "base")


@pytest.fixture(scope="session")
def standin(docker: dict[str, str]) -> str:
    """The image that replaces PostgreSQL's, Redis's and, with systemd as its first process, a machine."""
    return _image(docker, "standin")


def _image(docker: dict[str, str], name: str) -> str:
    run(docker, HERE / "engine", "image", os.environ[WORK], name)
    return f"deskbridge-{name}:local"


@pytest.fixture(scope="session")
def wheel(testrun_uid: str) -> Path:
    """The wheel of this tree in dist/, built once; `make -o wheel` builds the image and the package from it."""
    with alone("wheel") as work:
        built_by = work / "wheel.run"
        if not built_by.exists() or built_by.read_text(encoding="utf-8") != testrun_uid:
            run({**os.environ}, "/usr/bin/make", "wheel")
            built_by.write_text(testrun_uid, encoding="utf-8")
    (built,) = (ROOT / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="session")
def image(docker: dict[str, str], base: str, wheel: Path) -> str:
    """The image built from this tree."""
    assert wheel.exists()
    with alone("image"):
        named = (f"BASE={base}", f"IMAGE={IMAGE}", "BUILD_FLAGS=-q --network=host")
        run(docker, "/usr/bin/make", "-o", "wheel", "image", *named)
    return IMAGE


def run(environment: dict[str, str], *command: str | Path, given: str = "", cwd: Path = ROOT) -> str:
    """Run a program, which must succeed; return its output."""
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
