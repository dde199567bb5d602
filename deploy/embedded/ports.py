"""Free TCP ports on 127.0.0.1."""

import secrets
import socket

from deploy.embedded.errors import EmbeddedError

HOST = "127.0.0.1"

# Below the range that Linux uses for outgoing connections (from 32768). A port in that range can be
# taken by a client while the server restarts. A client that retries can even connect to itself.
_FIRST, _LAST = 20_000, 32_000
_TRIES = 200


def is_free(port: int) -> bool:
    """Return whether a server could listen on `port` on 127.0.0.1 now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: connections left in TIME_WAIT by the last server do not block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def free_port() -> int:
    """Return a port on 127.0.0.1 on which nothing listens.

    Raises:
        EmbeddedError: if no free port was found.
    """
    for _ in range(_TRIES):
        port = _FIRST + secrets.randbelow(_LAST - _FIRST)
        if is_free(port):
            return port
    raise EmbeddedError(f"no free port between {_FIRST} and {_LAST} on {HOST}: is listening allowed here?")
