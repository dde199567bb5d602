"""What the tests of a deployment need of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
CANNOT = 3
"""Exit code of what cannot be done on this machine, through no fault of ours."""
_left_out: list[str] = []


def leave_out(reason: str) -> NoReturn:
    """Skip what cannot be had here; the whole run ends with `CANNOT` then, since nothing was shown."""
    _left_out.append(reason)
    pytest.skip(reason)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Say by the exit code that something could not be run."""
    if exitstatus == 0 and _left_out:
        session.exitstatus = CANNOT


@pytest.fixture(scope="session")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Finds a program by its name, in a Debian package where it is not installed; skips where it cannot be had."""
    unpacked = Path(os.environ.get("DEPLOY_TOOLS") or tmp_path_factory.mktemp("tools"))

    def find(name: str, package: str) -> Path:
        path = f"{os.environ['PATH']}:{unpacked}/usr/bin:{unpacked}/usr/sbin"
        if found := shutil.which(name, path=path):
            return Path(found)
        ended = subprocess.run(
            [ROOT / "deploy" / "unpack", unpacked, package], capture_output=True, check=False
        )
        if ended.returncode == CANNOT:
            leave_out(f"{name}: {ended.stderr.decode().strip()}")
        assert ended.returncode == 0, ended.stderr
        return Path(str(shutil.which(name, path=path)))

    return find
