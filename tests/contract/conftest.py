"""Starts the tracker that the contract suite runs over.

`--tracker=standin` (default) starts the stand-in on a free port; `--tracker=redmine` starts, or finds
already up, a real Redmine through deploy/redmine/redmine-up; `--tracker=http://[KEY@]HOST:PORT` takes
one that somebody else started with the same seed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NoReturn
from urllib.parse import urlsplit

import pytest

from tests.contract import seed
from tests.contract.support import Json, Tracker, accepted

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = ROOT / "deploy" / "redmine"
CANNOT_INSTALL = 3
"""redmine-up's exit code when packages are missing and cannot be installed here."""


@pytest.fixture(scope="session")
def tracker_server(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Yield the base address and the administrator's key of the tracker named by --tracker."""
    choice: str = request.config.getoption("--tracker")
    if choice == "standin":
        with _standin() as server:
            yield server
    elif choice == "redmine":
        with _redmine() as server:
            yield server
    elif choice.startswith(("http://", "https://")):
        parts = urlsplit(choice)
        host = parts.netloc.rpartition("@")[2]
        yield f"{parts.scheme}://{host}{parts.path.rstrip('/')}", parts.username or seed.ADMIN_KEY
    else:
        raise pytest.UsageError(f"--tracker={choice}: standin, redmine or an http(s) address is wanted")


@pytest.fixture(scope="session")
def tracker(tracker_server: tuple[str, str]) -> Iterator[Tracker]:
    """Yield the driver of the tracker under test."""
    driver = Tracker(*tracker_server)
    with driver.session:
        yield driver


@pytest.fixture(autouse=True)
def _clean(tracker: Tracker) -> Iterator[None]:
    """Delete after each test what it created, so that tests do not see one another's objects."""
    yield
    tracker.clean_up()


@pytest.fixture
def project(tracker: Tracker) -> Json:
    """Return a private project of this test's own, without members and with default modules and types."""
    made: Json = accepted(tracker.create_project())["project"]
    return made


@contextmanager
def _standin() -> Iterator[tuple[str, str]]:
    command = [sys.executable, "-m", "deploy.sandbox.tracker", "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = _first_line(process.stdout)
            if not line:
                pytest.fail("the stand-in tracker ended before it said its address (its words are above)")
            ready = json.loads(line)
            yield ready["base_url"], ready["api_key"]
        finally:
            process.terminate()


def _first_line(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline()


@contextmanager
def _redmine() -> Iterator[tuple[str, str]]:
    up = subprocess.run([LAUNCHER / "redmine-up"], capture_output=True, text=True, check=False)
    if up.returncode == CANNOT_INSTALL:
        _missing(f"a real Redmine cannot be installed here:\n{up.stderr}")
    if up.returncode != 0:
        pytest.fail(f"redmine-up ended with {up.returncode}:\n{up.stderr}")
    ready = json.loads(up.stdout)
    try:
        yield ready["base_url"], ready["api_key"]
    finally:
        if not ready["reused"]:
            subprocess.run([LAUNCHER / "redmine-down", "--dir", ready["dir"]], check=True)


def _missing(what: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(f"{what}, and CI is set: there nothing is skipped")
    pytest.skip(what)
