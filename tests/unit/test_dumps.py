"""A crashing process leaves no core dump, and no process of the same account can read its memory."""

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
    """Crash a process that may write core dumps; return the dumps that it left."""
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    raised = f"resource.setrlimit(resource.RLIMIT_CORE, ({most}, {most})); "
    program = CRASH.format(forbid=raised + forbid, directory=str(directory))
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False)
    assert ended.returncode == -signal.SIGABRT, ended.stderr
    left = list(directory.glob("core*"))
    for file in left:
        file.unlink()
    return left


@pytest.mark.promise("SEC-33")
def test_a_crash_leaves_no_core_dump(tmp_path: Path) -> None:
    assert crash(tmp_path, "from shared.process.dumps import guard_memory; guard_memory(); ") == []


def test_the_limit_cannot_be_raised_again_and_may_be_set_twice() -> None:
    program = (
        "import resource; from shared.process.dumps import guard_memory; guard_memory(); guard_memory(); "
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


NEIGHBOURS = """
import ctypes, os, resource, sys
from shared.process.dumps import guard_memory

def begin(work):
    number = os.fork()
    if number:
        return number
    if os.geteuid() == 0:  # root may look at everything
        os.setgid(65534)
        os.setuid(65534)
    try:
        work()
    finally:
        os._exit(0)

def hold_a_key():
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # as a program is that was just begun
    if sys.argv[1] == "guarded":
        guard_memory()
    os.write(ready[1], b"x")
    os.read(over[0], 1)

def look():
    for name in ("environ", "maps", "mem"):
        try:
            open(f"/proc/{holder}/{name}", "rb").close()
        except PermissionError:
            print("refused", name, flush=True)
        else:
            print("open", name, flush=True)

ready, over = os.pipe(), os.pipe()
holder = begin(hold_a_key)
os.close(ready[1])
assert os.read(ready[0], 1)
os.waitpid(begin(look), 0)
os.write(over[1], b"x")
os.waitpid(holder, 0)
"""


def seen_by_a_neighbour(how: str) -> set[str]:
    """Return whether another process of the same account found the /proc files of one with a key open or refused."""
    ran = subprocess.run(
        [sys.executable, "-c", NEIGHBOURS, how], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {line.split()[0] for line in ran.stdout.splitlines()}


@pytest.mark.promise("SEC-34")
@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_another_process_of_the_same_account_gets_at_neither_memory_nor_environment() -> None:
    assert seen_by_a_neighbour("guarded") == {"refused"}


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_without_it_the_environment_would_be_there_for_the_taking() -> None:
    assert "open" in seen_by_a_neighbour("as it is")
