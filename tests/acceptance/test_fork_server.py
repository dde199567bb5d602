"""A process from the fork server behaves like one started from nothing, so tests that use it prove the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fleet import READY_WITHIN_S
from tests.support.fork_server import ROOT, CommandShim, ForkServer, ReadyMade, can_be_forked
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a process adopted")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """The environment of an installation whose database and Redis are down."""
    return {
        "DESKBRIDGE_DATABASE_URL": f"sqlite:///{tmp_path}/none.sqlite3",
        "DESKBRIDGE_REDIS_URL": "redis://127.0.0.1:1/0",
    }


@pytest.mark.parametrize(
    ("command", "more"),
    [
        (["nonsense"], {}),
        (["event", "list", "--json"], {}),
        (["worker"], {"DESKBRIDGE_SWEEP_INTERVAL": "never"}),
        (["producer"], {"DESKBRIDGE_SECRET_KEYS": "secret"}),
    ],
    ids=str,
)
def test_a_command_says_and_ends_as_from_nothing(
    shared_fork_server: ForkServer,
    environ: dict[str, str],
    tmp_path: Path,
    command: list[str],
    more: dict[str, str],
) -> None:
    env = environ | more
    program = [sys.executable, "-m", "producer.cli.main", *command]
    wanted = subprocess.run(
        program, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=READY_WITHIN_S, check=False
    )
    had = shared_fork_server.run(command, env, tmp_path, READY_WITHIN_S)
    assert had.returncode == wanted.returncode
    assert untimed(had.stdout) == untimed(wanted.stdout)
    assert untimed(had.stderr) == untimed(wanted.stderr)


def untimed(said: str) -> list[str]:
    """Return the output without timestamps and without usage lines, which show the program's name."""
    return [_untimed(line) for line in said.splitlines() if not line.strip().startswith(("Usage:", "Try"))]


def _untimed(line: str) -> str:
    if not line.startswith('{"'):
        return line
    return json.dumps({name: what for name, what in json.loads(line).items() if name != "timestamp"})


@pytest.fixture
def beat(shared_fork_server: ForkServer, environ: dict[str, str], tmp_path: Path) -> ReadyMade:
    """A running beat whose servers are down."""
    made = ReadyMade(shared_fork_server, "beat", ["beat"], log=tmp_path / "log", env=environ, cwd=tmp_path)
    made.start()
    until(lambda: hears_of_its_end(made.pid), made.log_tail, READY_WITHIN_S)
    return made


def hears_of_its_end(pid: int) -> bool:
    """Return whether a process has installed a handler for SIGTERM."""
    status = Path(f"/proc/{pid}/status").read_text()
    (caught,) = [line.split()[1] for line in status.splitlines() if line.startswith("SigCgt")]
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def test_a_process_is_the_tests_child_in_a_session_and_a_directory_of_its_own(
    beat: ReadyMade, tmp_path: Path
) -> None:
    process = Path(f"/proc/{beat.pid}")
    assert process.joinpath("stat").read_text().rpartition(")")[2].split()[1] == str(os.getpid())
    assert os.getsid(beat.pid) == beat.pid
    assert process.joinpath("cwd").readlink() == tmp_path
    files = {one.name: one.readlink() for one in process.joinpath("fd").iterdir() if int(one.name) < 3}
    assert files == {"0": Path(os.devnull), "1": beat.log, "2": beat.log}
    beat.kill()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_process_ends_by_a_signal_as_any_other(beat: ReadyMade, number: signal.Signals, code: int) -> None:
    beat.send_signal(number)
    assert beat.wait(READY_WITHIN_S)
    assert beat.returncode == code


ENDS = """
import os, sys
from pathlib import Path
from tests.support.fork_server import ForkServer, ReadyMade

child = ReadyMade(ForkServer(), "beat", ["beat"], log=Path(sys.argv[1]), env=dict(os.environ), cwd=Path.cwd())
child.start()
print(child.pid, flush=True)
sys.stdin.read()
os._exit(0)
"""


def test_a_process_ends_with_whoever_began_it(environ: dict[str, str], tmp_path: Path) -> None:
    program = [sys.executable, "-c", ENDS, str(tmp_path / "log")]
    with subprocess.Popen(
        program, cwd=ROOT, env=environ, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as test:
        assert test.stdout
        assert test.stdin
        pid = int(test.stdout.readline())
        assert Path(f"/proc/{pid}").exists()
        test.stdin.close()
        test.wait(READY_WITHIN_S)
    until(lambda: not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text())


def test_what_a_python_reads_at_its_start_is_not_given_to_one_that_has_started() -> None:
    assert can_be_forked({"DESKBRIDGE_REDIS_URL": "x", "PATH": "x", "HOME": "x", "LANG": "C"})
    assert not can_be_forked({"PYTHONPATH": "x"})
    assert not can_be_forked({"LD_PRELOAD": "x"})


def test_what_a_shell_types_ends_and_is_piped_as_from_nothing(
    shim: CommandShim, environ: dict[str, str], tmp_path: Path
) -> None:
    env = environ | {"PATH": f"{shim.directory}:{os.environ['PATH']}"}
    typed = 'deskbridge --version | tr a-z A-Z; read -r line; echo "$line"; deskbridge nonsense 2> told || echo $?'
    ended = subprocess.run(
        ["/bin/bash", "-c", typed], cwd=tmp_path, env=env, input="given\n", capture_output=True, text=True, check=True
    )  # fmt: skip
    version, *others = ended.stdout.splitlines()
    assert version.startswith("DESKBRIDGE ")
    assert others == ["given", "2"]
    assert "nonsense" in (tmp_path / "told").read_text()
