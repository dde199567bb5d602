"""The base class of the embedded Redis and PostgreSQL."""

import shutil
import signal
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Self

from deploy.embedded.child import STOP_TIMEOUT, Child
from deploy.embedded.errors import ChildDied, EmbeddedError, PortTaken
from deploy.embedded.ports import free_port, is_free

_PORT_TRIES = 3


class Server(ABC):
    """A server on 127.0.0.1 with its data in one directory; it keeps its port over restarts.

    Args:
        data_dir: directory of the data and the server's log; created if missing.
        port: port on 127.0.0.1; None picks a free one at the first start.
        start_timeout: seconds to wait until the server answers.
    """

    name: str

    def __init__(self, data_dir: Path, *, port: int | None = None, start_timeout: float = 30.0) -> None:
        self.data_dir = data_dir.absolute()
        self._port = port
        self._start_timeout = start_timeout
        self._child: Child | None = None

    @property
    def port(self) -> int:
        """The port on 127.0.0.1 on which the server listens.

        Raises:
            EmbeddedError: if none was given and the server was not started yet.
        """
        if self._port is None:
            raise EmbeddedError(f"{self.name} has no port before its first start")
        return self._port

    @property
    def log(self) -> Path:
        """The log file of the server."""
        return self.data_dir / f"{self.name}.log"

    @property
    def alive(self) -> bool:
        """Whether the server's process runs (it may be frozen)."""
        return self._child is not None and self._child.alive

    @property
    def child(self) -> Child:
        """The server's process, for its id, its log, and signals that freeze and resume it.

        Raises:
            EmbeddedError: if the server was never started.
        """
        if self._child is None:
            raise EmbeddedError(f"{self.name} was not started")
        return self._child

    def start(self) -> Self:
        """Start the server, unless it is running, and wait until it answers.

        Raises:
            ServerMissing: if there is no server program on this machine.
            PortTaken: if the port is in use.
            ChildDied, NotReady: if it did not start; the message shows its log.
        """
        if self.alive:
            return self
        self.data_dir.mkdir(parents=True, exist_ok=True)
        if self._port is None:
            self._start_on_free_port()
        elif is_free(self._port):
            self._launch()
        else:
            raise PortTaken(self._port)
        return self

    def _start_on_free_port(self) -> None:
        for tries_left in reversed(range(_PORT_TRIES)):
            port = self._port = free_port()
            try:
                self._launch()
            except BaseException as error:
                self._port = None
                # Another process may have taken the port since it was found to be free.
                if not (isinstance(error, ChildDied) and tries_left and not is_free(port)):
                    raise
            else:
                return

    def _launch(self) -> None:
        child = self._make_child()
        child.start()
        try:
            child.wait_ready(lambda: self._answers(child), self._start_timeout)
        except BaseException:
            child.kill()
            raise
        self._child = child

    @abstractmethod
    def _make_child(self) -> Child:
        """Prepare the data directory and return the process to start."""

    @abstractmethod
    def _answers(self, child: Child) -> bool:
        """Return whether this server answers, not another one on the same port."""

    def stop(self, timeout: float = STOP_TIMEOUT) -> None:
        """Stop the server in an orderly way, or after `timeout` seconds with SIGKILL."""
        if self._child is not None:
            self._child.stop(timeout)

    def kill(self) -> None:
        """End the server with SIGKILL, as a power cut would; port and data remain for the next start."""
        if self._child is not None:
            self._child.kill()

    def restart(self) -> Self:
        """Stop the server, and start it again with the same port and data."""
        self.stop()
        return self.start()

    def revive(self) -> Self:
        """Make the server answer again after it was frozen, stopped or killed; do nothing if it answers."""
        if self._child is not None:
            self._child.send_signal(signal.SIGCONT)
        return self.start()

    def death_notice(self) -> str:
        """Return a message about how the server ended, with the end of its log."""
        return self.child.death_notice()

    def destroy(self) -> None:
        """End the server and delete its data directory."""
        self.kill()
        shutil.rmtree(self.data_dir, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
