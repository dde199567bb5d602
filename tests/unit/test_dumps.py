"""A process that crashes leaves no image of its memory."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CRASH = "import os, resource; {forbid}os.chdir({directory!r}); os.abort()"


def crash(directory: Path, forbid: str) -> list[Path]:
    """Let a process crash that may write core dumps; return those that it left."""
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    raised = f"resource.setrlimit(resource.RLIMIT_CORE, ({most}, {most})); "
    program = CRASH.format(forbid=raised + forbid, directory=str(directory))
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False)
    assert ended.returncode == -signal.SIGABRT, ended.stderr
    left = list(directory.glob("core*"))
    for file in left:
        file.unlink()
    return left


def test_a_crash_leaves_no_core_dump(tmp_path: Path) -> None:
    assert crash(tmp_path, "from shared.dumps import forbid_core_dumps; forbid_core_dumps(); ") == []


def test_the_limit_cannot_be_raised_again_and_may_be_set_twice() -> None:
    program = (
        "import resource; from shared.dumps import forbid_core_dumps; forbid_core_dumps(); forbid_core_dumps(); "
        "print(resource.getrlimit(resource.RLIMIT_CORE))"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert said.strip() in ("(1, 1)", "(0, 0)")


@pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_CORE)[1] == 0
    or Path("/proc/sys/kernel/core_pattern").read_text().strip() != "core",
    reason="this machine writes no core dumps into the working directory anyway",
)
def test_without_it_there_would_be_one(tmp_path: Path) -> None:
    assert crash(tmp_path, "") != []
