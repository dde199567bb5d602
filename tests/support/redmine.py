"""A real Redmine for tests: started, or found running, by deploy/redmine/redmine-up."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

LAUNCHER = Path(__file__).resolve().parents[2] / "deploy" / "redmine"
CANNOT_INSTALL = 3
"""redmine-up's exit code if packages are missing and cannot be installed here."""


@contextmanager
def real_redmine(release: str) -> Iterator[dict[str, Any]]:
    """Yield redmine-up's output: base_url, api_key, dir. REDMINE_UP_OPTIONS can set options such as a separate port."""
    own = os.environ.get("REDMINE_UP_OPTIONS", "").split()
    command = [str(LAUNCHER / "redmine-up"), "--version", release, *own]
    up = subprocess.run(command, capture_output=True, text=True, check=False)
    if up.returncode == CANNOT_INSTALL:
        _missing(f"a real Redmine cannot be installed here:\n{up.stderr}")
    if up.returncode != 0:
        pytest.fail(f"redmine-up ended with {up.returncode}:\n{up.stderr}")
    ready: dict[str, Any] = json.loads(up.stdout)
    try:
        yield ready
    finally:
        if not ready["reused"]:
            subprocess.run([LAUNCHER / "redmine-down", "--dir", ready["dir"]], check=True)


def _missing(what: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(f"{what}, and CI is set: there nothing is skipped")
    pytest.skip(what)
