"""One child process that ends with its parent."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from deploy.embedded.errors import ChildDied, EmbeddedError, NotReady
from deploy.embedded.spawn import Process, die_with_parent, from_lasting_thread

READY_TIMEOUT = 30.0
STOP_TIMEOUT = 10.0
_POLL = 0.01
_TAIL_BYTES = 8192


@dataclass(frozen=True)
class Account:
    """The numeric user and group that a child runs as. Changing them needs root."""

    user: int
    group: int


class Child:
    """One child process, in its own session.

    In its own session it gets no Ctrl-C from the terminal. Only the parent gets it, and stops its
    children in order. On Linux the kernel ends the child when the parent ends, even by SIGKILL.

    Args:
        name: for messages.
        argv: the program and its arguments.
        log: file to which standard output and standard error are appended.
        env: the whole environment; by default this process's.
        cwd: working directory; by default this process's.
        account: user and group to run as; by default this process's.
        stop_signal: signal that asks the program to stop in an orderly way.
        parent_death_signal: signal that the kernel sends when the parent ends.
    """

    def __init__(
        self,
        name: str,
        argv: Sequence[str | Path],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        account: Account | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
        parent_death_signal: signal.Signals = signal.SIGKILL,
    ) -> None:
        self.name = name
        self.argv = [str(argument) for argument in argv]
        self.log = log
        self._env = dict(env) if env is not None else None
        self._cwd = cwd
        self._account = account
        self._stop_signal = stop_signal
        self._parent_death_signal = parent_death_signal
        self._log_start = 0
        self._process: Process | None = None

    def start(self) -> None:
        """Start the process, unless it is running.

        Raises:
            EmbeddedError: if the program cannot be executed.
        """
        if self.alive:
            return
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as output:
            self._log_start = output.tell()
            try:
                self._process = from_lasting_thread(lambda: self._spawn(output.fileno()))
            except (OSError, subprocess.SubprocessError) as error:
                raise EmbeddedError(f"{self.name}: cannot run {self.argv[0]}: {error}") from error

    def _spawn(self, output: int) -> Process:
        account = self._account
        return subprocess.Popen(
            self.argv,
            env=self._env,
            cwd=self._cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=account.user if account else None,
            group=account.group if account else None,
            extra_groups=[] if account else None,
            preexec_fn=die_with_parent(self._parent_death_signal),
        )

    @property
    def pid(self) -> int:
        """The id of the last process that was started.

        Raises:
            EmbeddedError: if none was started.
        """
        if self._process is None:
            raise EmbeddedError(f"{self.name} was not started")
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """How the process ended: its exit code, minus the signal that ended it, or None while it runs."""
        process = self._process
        if process is None:
            return None
        if process.returncode is None and _has_ended(process.pid):
            # Before the process is reaped, while its id cannot be reused: end the processes that it left behind.
            self._signal_group(signal.SIGKILL)
        return process.poll()

    @property
    def alive(self) -> bool:
        """Whether the process was started and has not ended."""
        return self._process is not None and self.returncode is None

    def wait_ready(self, ready: Callable[[], bool], timeout: float = READY_TIMEOUT) -> None:
        """Wait until `ready` returns True; an OSError from it means "not yet".

        Args:
            ready: returns whether the process can be used.
            timeout: seconds to wait.

        Raises:
            ChildDied: if the process ended meanwhile.
            NotReady: if the time is over; the process keeps running.
        """
        deadline = time.monotonic() + timeout
        while self.alive:
            with suppress(OSError):
                if ready():
                    return
            if time.monotonic() >= deadline:
                raise NotReady(f"{self.name} was not ready after {timeout:g} s. {self._log_end()}")
            time.sleep(_POLL)
        raise ChildDied(self.death_notice())

    def wait(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds for the process to end; return whether it has."""
        deadline = time.monotonic() + timeout
        while self.alive:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL)
        return True

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal only to the process, not to those it started; do nothing if it has ended."""
        if self.alive:
            os.kill(self.pid, number)

    def stop(self, timeout: float = STOP_TIMEOUT) -> int | None:
        """Ask the process to stop; after `timeout` seconds kill it and all it started. Return its `returncode`."""
        if self.alive:
            self.send_signal(self._stop_signal)
            self.send_signal(signal.SIGCONT)  # a frozen process could not act on the request
            if not self.wait(timeout):
                self.kill()
        return self.returncode

    def kill(self) -> None:
        """Kill the process and all it started with SIGKILL, and wait until it has ended."""
        if self.alive:
            self._signal_group(signal.SIGKILL)
            self.wait(STOP_TIMEOUT)

    def restart(self, timeout: float = STOP_TIMEOUT) -> None:
        """Restart the process."""
        self.stop(timeout)
        self.start()

    def log_tail(self, lines: int = 15) -> str:
        """Return the last lines of the log of the process that was started last."""
        with self.log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_start, size - _TAIL_BYTES))
            return "\n".join(log.read().decode(errors="replace").splitlines()[-lines:])

    def death_notice(self) -> str:
        """Return a message about how the process ended, with the end of its log."""
        return f"{self.name} has ended ({_ending(self.returncode)}). {self._log_end()}"

    def _log_end(self) -> str:
        return f"Last lines of {self.log}:\n{self.log_tail() or '(nothing was written)'}"

    def _signal_group(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


def _has_ended(pid: int) -> bool:
    """Return whether our child has ended, without reaping it."""
    if sys.platform != "linux":
        return False
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


def _ending(returncode: int | None) -> str:
    if returncode is None:
        return "never started"
    if returncode < 0:
        return signal.Signals(-returncode).name
    return f"exit code {returncode}"
