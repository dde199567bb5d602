"""One HTTP call, limited in total time, to a server other than the tracker (GLPI's API, an OpenID provider).

The library's time-outs only limit single waits, so an answer or headers that trickle in could take forever. So each
call has its own thread, and its connections are shut down when the time is up. The environment has no influence: no
proxy, no .netrc; only the settings can name a proxy. Redirects are not followed.
"""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from functools import cache
from queue import Empty, SimpleQueue
from tempfile import gettempdir
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from shared.errors import NotYet
from shared.notices.faults import Fault
from shared.notices.notice import Notice
from shared.process.outbound import Outbound, why_unreachable

PIECE = 64 * 1024


class Unanswered(Exception):
    """The call got no complete answer.

    Args:
        error: the cause in words, or the type of the error; never text of the other server.
    """

    def __init__(self, error: Notice | str) -> None:
        self.error = error
        super().__init__(error)


class Answered(NamedTuple):
    """A complete answer.

    Attributes:
        status: HTTP status.
        content: the body; None in place of a body that is too large, empty if it was written to a file.
        media_type: its type as declared, without parameters.
    """

    status: int
    content: bytes | None
    media_type: str


class OutOfTime(Unanswered):
    """The call got no complete answer in time."""


def bounded_call(
    outbound: Outbound,
    method: str,
    address: str,
    *,
    within: float,
    most: int,
    into: BinaryIO | None = None,
    **options: Any,
) -> Answered:
    """Make one call.

    Args:
        outbound: trusted authorities and the proxy.
        method: HTTP method.
        address: URL to call.
        within: seconds for the whole call, from the name lookup to the last byte.
        most: largest body of an answer, in bytes.
        into: file to which the body is written as it arrives, byte for byte: a file that the server labels as
            compressed, such as a .tar.gz, is not unpacked.
        options: further options of `requests`.

    Raises:
        OutOfTime: if the call takes too long.
        Unanswered: if it fails for another reason.
        NotYet: if the file, which is a temporary one, does not take the body.
    """
    wire = _Wire()
    done: SimpleQueue[Answered | Exception] = SimpleQueue()

    def make() -> None:
        try:
            done.put(_made(outbound, wire, method, address, within, most, into, options))
        except Exception as failure:  # noqa: BLE001 (whatever a library raises over what another server says)
            done.put(failure)
        finally:
            wire.close()

    threading.Thread(target=make, name="outbound", daemon=True).start()
    try:
        answer = done.get(timeout=within)
    except Empty:
        raise OutOfTime("Timeout") from None
    finally:
        wire.cut()
    if isinstance(answer, requests.Timeout):
        raise OutOfTime("Timeout")
    if isinstance(answer, NotYet):
        raise answer
    if isinstance(answer, Exception):
        raise Unanswered(_why(answer, address, outbound))
    return answer


def _made(
    outbound: Outbound,
    wire: _Wire,
    method: str,
    address: str,
    within: float,
    most: int,
    into: BinaryIO | None,
    options: dict[str, Any],
) -> Answered:
    proxy = outbound.proxy and outbound.proxy.get_secret_value()
    with requests.Session() as session:
        session.trust_env = False
        if proxy and outbound.proxy_for(urlsplit(address).hostname or ""):
            session.proxies = {"http": proxy, "https": proxy}
        for scheme in ("http://", "https://"):
            session.mount(scheme, _Adapter(wire, _tls(outbound)))
        with session.request(
            method, address, timeout=within, allow_redirects=False, stream=True, **options
        ) as answer:
            media_type = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
            content, size = bytearray(), 0
            pieces = (
                answer.iter_content(PIECE) if into is None else answer.raw.stream(PIECE, decode_content=False)
            )
            for piece in pieces:
                size += len(piece)
                if size > most:
                    return Answered(answer.status_code, None, media_type)
                if into is None:
                    content += piece
                else:
                    _store(piece, into)
            return Answered(answer.status_code, bytes(content), media_type)


def _store(piece: bytes, into: BinaryIO) -> None:
    try:
        into.write(piece)
        into.flush()
    except OSError as full:
        error = full.strerror or type(full).__name__
        raise NotYet(Fault.FILE_NOT_STORED(folder=gettempdir(), error=error)) from None


@cache
def _tls(outbound: Outbound) -> ssl.SSLContext:
    """Return the TLS context, cached because it takes long to read the system's authorities."""
    return outbound.tls()


def _why(failure: Exception, address: str, outbound: Outbound) -> Notice | str:
    try:
        return why_unreachable(failure, address, outbound) or type(failure).__name__
    except ValueError:  # the address is no URL
        return type(failure).__name__


class _Wire:
    """The connections of a call, which another thread can cut."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: list[Any] = []
        self._sockets: list[socket.socket] = []
        self._is_cut = False

    def keep(self, connection: Any, connected: socket.socket) -> socket.socket:
        """Remember a connection and a duplicate of its socket, since TLS takes over the original."""
        self._connections.append(connection)
        with self._lock:
            if self._is_cut:
                connected.close()
                raise TimeoutError
            self._sockets.append(connected.dup())
        return connected

    def close(self) -> None:
        """Close the connections; the library does not guarantee it."""
        for one in self._connections:
            one.close()

    def cut(self) -> None:
        """Shut down the connections, so that nothing waits for them; later ones are closed at once."""
        with self._lock:
            self._is_cut = True
            for one in self._sockets:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()
            self._sockets.clear()


class _Adapter(HTTPAdapter):
    """Registers the connections of a call with its wire, so that they can be cut."""

    def __init__(self, wire: _Wire, tls: ssl.SSLContext) -> None:
        self._wire, self._tls = wire, tls
        super().__init__()

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        """Register direct connections."""
        super().init_poolmanager(*arguments, **{**options, "ssl_context": self._tls})
        _keep(self.poolmanager, self._wire)

    def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:
        """Register connections to a proxy."""
        manager: Any = super().proxy_manager_for(*arguments, **{**options, "ssl_context": self._tls})
        _keep(manager, self._wire)
        return manager


def _keep(manager: Any, wire: _Wire) -> None:
    """Make a manager's pools register each connection with the wire as soon as it exists, before TLS."""
    manager.pool_classes_by_scheme = {
        scheme: type("Pool", (pool,), {"ConnectionCls": _kept(pool.ConnectionCls, wire)})
        for scheme, pool in manager.pool_classes_by_scheme.items()
    }


def _kept(kind: Any, wire: _Wire) -> type:
    def new_conn(self: Any) -> socket.socket:
        return wire.keep(self, kind._new_conn(self))

    return type("Connection", (kind,), {"_new_conn": new_conn})
