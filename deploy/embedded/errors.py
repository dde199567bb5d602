"""Errors when a server or a child process is started on this machine.

EmbeddedError
├ ServerMissing   no usable server program here
├ PortTaken       something else listens on the requested port
├ ChildDied       the process ended before it was ready, or while it should run
└ NotReady        the process runs but did not answer in time
"""


class EmbeddedError(RuntimeError):
    """A server or child process could not be started; the message says what to do next."""


class ServerMissing(EmbeddedError):
    """No usable server program was found on this machine."""


class PortTaken(EmbeddedError):
    """The requested port is in use on 127.0.0.1."""

    def __init__(self, port: int) -> None:
        super().__init__(
            f"port {port} of 127.0.0.1 is in use: stop what listens there, or choose another port"
        )
        self.port = port


class ChildDied(EmbeddedError):
    """The child process has ended although it should run; the message shows the end of its log."""


class NotReady(EmbeddedError):
    """The child process runs but was not ready in time; the message shows the end of its log."""
