"""Processes of deskbridge without their second of loading: forked from a process that has loaded everything.

A forked process is like any other: a child of the test, in its own session, with its own environment, working
directory and output, that can be signalled, killed and waited for. It cannot show what only a start from scratch
shows: which modules are loaded and whether they can be, and what the system reports about a process
(/proc/PID/cmdline and environ are those of the process that it was forked from). So the first commands in the
documentation, `make run` and the test of secrecy start everything from scratch.

    python -m tests.support.fork_server FD    the process that forks the others, on requests over the socket FD
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NoReturn, cast

from deploy.embedded.child import Child
from deploy.embedded.spawn import Process, die_with_parent, from_lasting_thread

ROOT = Path(__file__).resolve().parents[2]
LOADED = (
    "celery.app.amqp",
    "celery.concurrency.thread",
    "celery.worker.components",
    "celery.worker.consumer",
    "producer.cli.main",
    "producer.cli.services",
    "producer.intake.app",
    "producer.console.app",
    "producer.http.connections",
    "psycopg2.extras",
    "rich.console",
    "shared.telemetry.reporting",
    "shared.store.tables.schema",
    "uvicorn",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "worker.start",
    "worker.beat",
    "worker.process",
)
"""The modules that the four long-running processes and the commands load."""

LARGEST = 1 << 18
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


class ForkedProcess:
    """A forked process, with the part of `subprocess.Popen` that tests use.

    Attributes:
        pid: its process id.
        returncode: return code as in `Popen`; None until `poll` has seen its end.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return its return code, or None if it is running."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


class ForkServer:
    """The process from which others are forked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket = ours
        environ = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        with its:
            self._process = from_lasting_thread(
                lambda: subprocess.Popen(
                    [sys.executable, "-m", __name__, str(its.fileno())],
                    cwd=ROOT,
                    env=environ,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[its.fileno()],
                    start_new_session=True,
                    preexec_fn=die_with_parent(signal.SIGKILL),
                )
            )

    def begin(
        self, arguments: Sequence[str], env: Mapping[str, str], cwd: Path, files: Sequence[int]
    ) -> ForkedProcess:
        """Start `deskbridge` with arguments; `files` are its standard input, output and error."""
        asked = {"arguments": arguments, "env": dict(env), "cwd": str(cwd), "parent": os.getpid()}
        with self._lock:
            _adopt(True)  # a process that loses its parent from here on becomes a child of this process
            try:
                socket.send_fds(self._socket, [json.dumps(asked).encode()], list(files))
                pid = int(self._socket.recv(LARGEST))
                assert self._socket.recv(LARGEST) == b"orphaned"
            finally:
                _adopt(False)
        return ForkedProcess(pid)

    def run(
        self, arguments: Sequence[str], env: Mapping[str, str], cwd: Path, timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of `deskbridge` to its end."""
        with Path(os.devnull).open() as nothing, TemporaryFile() as output, TemporaryFile() as errors:
            files = (nothing.fileno(), output.fileno(), errors.fileno())
            begun = self.begin(arguments, env, cwd, files)
            deadline = time.monotonic() + timeout
            while begun.poll() is None:
                if time.monotonic() >= deadline:
                    os.kill(begun.pid, signal.SIGKILL)
                    os.waitpid(begun.pid, 0)
                    raise subprocess.TimeoutExpired(list(arguments), timeout)
                time.sleep(0.005)
            said = [(file.seek(0), file.read().decode())[1] for file in (output, errors)]
        assert begun.returncode is not None
        return subprocess.CompletedProcess(list(arguments), begun.returncode, *said)

    def close(self) -> None:
        """End the fork server; the processes that it forked continue."""
        self._socket.close()
        self._process.wait(60)


class ReadyMade(Child):
    """A child that a fork server forks; its `argv` are the arguments of `deskbridge`."""

    def __init__(self, fork_server: ForkServer, name: str, argv: Sequence[str], **options: Any) -> None:
        super().__init__(name, argv, **options)
        self._fork_server = fork_server

    def _spawn(self, output: int) -> Process:
        assert self._env is not None
        with Path(os.devnull).open() as nothing:
            files = (nothing.fileno(), output, output)
            return cast(Process, self._fork_server.begin(self.argv, self._env, self._cwd or ROOT, files))


class CommandShim:
    """A program `deskbridge` for shells: a fork server forks the command, and its exit code is passed on.

    Args:
        fork_server: forks the commands.
        directory: separate directory, for a PATH.
    """

    def __init__(self, fork_server: ForkServer, directory: Path) -> None:
        self.directory, self._fork_server = directory, fork_server
        address = directory / "shim"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.bind(str(address))
        self._socket.listen()
        program = directory / "deskbridge"
        program.write_text(TYPED.format(python=sys.executable, address=str(address)), encoding="utf-8")
        program.chmod(0o755)
        threading.Thread(target=self._open, name="shim", daemon=True).start()

    def _open(self) -> None:
        while True:
            try:
                typed, _ = self._socket.accept()
            except OSError:  # it was closed
                return
            threading.Thread(target=self._let_in, args=(typed,), daemon=True).start()

    def _let_in(self, typed: socket.socket) -> None:
        with typed:
            wish = _next(typed)
            assert wish
            asked, files = wish
            begun = self._fork_server.begin(asked["arguments"], asked["env"], Path(asked["cwd"]), files)
            for file in files:
                os.close(file)
            while (code := begun.poll()) is None:
                time.sleep(0.005)
            typed.send(str(code if code >= 0 else 128 - code).encode())

    def close(self) -> None:
        """Accept no more commands."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


TYPED = """#!{python} -IS
import json, os, socket, sys

door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
door.connect({address!r})
asked = {{"arguments": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd()}}
socket.send_fds(door, [json.dumps(asked).encode()], [0, 1, 2])
sys.exit(int(door.recv(16) or 70))
"""


def can_be_forked(env: Mapping[str, str]) -> bool:
    """Return whether an environment has no variable that only takes effect at a start from scratch."""
    return not any(name.startswith(("PYTHON", "LD_")) for name in env)


def _adopt(wanted: bool) -> None:
    _prctl(PR_SET_CHILD_SUBREAPER, int(wanted))


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


class _Exec(BaseException):
    """The program with which this process continues. Not an Exception, so that no handler catches it."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        self.argv, self.env = argv, dict(env)
        super().__init__(argv)


def _exec(_path: str, argv: Sequence[str], env: Mapping[str, str] | None = None) -> NoReturn:
    """Replace `exec`, which would load everything again."""
    sys.stdout.flush()
    sys.stderr.flush()
    raise _Exec(argv, os.environ if env is None else env)


def main() -> int:
    """Load everything, and fork a process for each request; in the forked process, run the command."""
    asked = socket.socket(fileno=int(sys.argv[1]))
    gc.disable()
    for name in LOADED:
        __import__(name)
    gc.freeze()
    # a thread would be missing in the forked process, with any lock that it holds
    assert len(list(Path("/proc/self/task").iterdir())) == 1
    while wish := _next(asked):
        middle = os.fork()
        if not middle:
            middle = os.getpid()
            if pid := os.fork():
                asked.send(str(pid).encode())
                os._exit(0)  # the process becomes the test's child
            asked.close()
            _settle(middle, *wish)
            return _run(["deskbridge", *wish[0]["arguments"]])
        for file in wish[1]:
            os.close(file)
        os.waitpid(middle, 0)
        asked.send(b"orphaned")
    return 0


def _next(asked: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    message, files, _, _ = socket.recv_fds(asked, LARGEST, 3)
    return (json.loads(message), files) if message else None


def _settle(middle: int, wish: dict[str, Any], files: list[int]) -> None:
    """Detach a forked process, as `Child` does, and make it end with the test's process.

    Args:
        middle: id of its parent, which ends at once.
        wish: the request.
        files: its standard input, output and error.
    """
    os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        was = getattr(sys, name)  # a stream remembers for what kind of file it was made
        buffering = 1 if name == "stderr" else -1
        made = open(  # noqa: SIM115
            number, mode, buffering, encoding=was.encoding, errors=was.errors, closefd=False
        )
        setattr(sys, name, made)
        setattr(sys, f"__{name}__", made)
    while os.getppid() == middle:
        time.sleep(0.001)
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != wish["parent"]:
        os._exit(1)
    os.chdir(wish["cwd"])
    _have(wish["env"])
    gc.enable()
    vars(os).update(execv=_exec, execve=_exec)


def _have(env: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)


def _run(argv: Sequence[str]) -> int:
    """Run `deskbridge`, and any program by which it replaces itself."""
    from producer.cli.main import run
    from worker.__main__ import main as worker

    while True:
        sys.argv = list(argv)
        try:
            if argv[0] == "worker":
                return worker()
            run()
            return 0
        except _Exec as then:
            module, *arguments = then.argv[then.argv.index("-m") + 1 :]
            _have(then.env)
            argv = ["worker" if module == "worker" else "deskbridge", *arguments]


if __name__ == "__main__":
    sys.exit(main())
