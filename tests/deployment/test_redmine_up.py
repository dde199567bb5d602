"""redmine-up accepts a missing cache folder; with `--no-install` it then exits with CANNOT_INSTALL."""

import os
import subprocess
from pathlib import Path

from tests.support.redmine import CANNOT_INSTALL, LAUNCHER


def test_a_cache_that_does_not_exist_is_made(tmp_path: Path) -> None:
    up = subprocess.run(
        [LAUNCHER / "redmine-up", "--version", "6.0", "--no-install", "--dir", tmp_path / "server"],
        env=os.environ | {"REDMINE_UP_CACHE": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert up.returncode == CANNOT_INSTALL, up.stderr


def test_make_s_version_does_not_reach_the_migrations() -> None:
    """`make test-redmine VERSION=6.1` exports it, and Rails' db:migrate takes it for a revision."""
    script = (LAUNCHER / "redmine-up").read_text(encoding="utf-8")
    before, _, after = script.partition("unset VERSION")
    assert after, "VERSION is unset"
    assert "make_app\nmake_database" not in before, "before Rails is called"
