"""One `make run`, with its output for tests."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from deploy.embedded.workplace import ROOT

PATIENCE_S = 240.0
UP = "Up; Ctrl-C ends it."


class Start:
    """One `python -m deploy.embedded run`, with its output in a file.

    Args:
        directory: directory of its data.
        options: further options.
        typed: shell command to run instead, in the checkout; it names the directory itself.
    """

    def __init__(self, directory: Path, *options: str, typed: str = "") -> None:
        self.directory = directory
        self._output = directory.parent / f"{directory.name}-{time.monotonic_ns()}.out"
        command = [sys.executable, "-m", "deploy.embedded", "run", "--dir", str(directory), *options]
        if typed:
            command = ["/bin/bash", "-euc", typed]
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT)

    @property
    def output(self) -> str:
        return self._output.read_text(encoding="utf-8")

    def wait_for(self, words: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while words not in self.output:
            assert self._process.poll() is None, self.output
            assert time.monotonic() < deadline, self.output
            time.sleep(0.05)

    def children(self) -> dict[int, str]:
        """Return the running processes that this one has started, with their command lines."""
        return {pid: command for pid, parent, command in running() if parent == self._process.pid}

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self) -> int:
        """Wait until it has ended; return its exit code."""
        return self._process.wait(PATIENCE_S)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_S)


def running() -> list[tuple[int, int, str]]:
    """Return every process of the machine that has not ended: id, parent, command line."""
    listed = subprocess.run(
        ["/bin/ps", "-axwwo", "pid=,ppid=,stat=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 3) for line in listed.stdout.splitlines()]
    return [(int(row[0]), int(row[1]), row[3]) for row in rows if len(row) == 4 and "Z" not in row[2]]
