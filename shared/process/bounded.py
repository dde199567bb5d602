"""One HTTP call to a server that is not the tracker (GLPI's API, an OpenID provider), which ends as a whole.

The library's time-outs bound single waits, so an answer that trickles, its headers too, could last forever. So a call
is made in a thread of its own, and what it connected is shut when the time is over. Nothing is taken from the
environment: no proxy, no .netrc; the settings may name a proxy. Redirects are not followed.
"""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from shared.notices.notice import Notice
from shared.process.outbound import Outbound, why_unreachable

PIECE = 64 * 1024


class Unanswered(Exception):
    """There is no whole answer.

    Args:
        error: the cause in words, or the kind of error; without a word of the other side.
    """

    def __init__(self, error: Notice | str) -> None:
        self.error = error
        super().__init__(error)


class OutOfTime(Unanswered):
    """There is none in time."""


def bounded_call(
    outbound: Outbound,
    method: str,
    address: str,
    *,
    within: float,
    most: int,
    into: BinaryIO | None = None,
    **options: Any,
) -> tuple[int, bytes | None]:
    """Make one call.

    Args:
        outbound: which authorities are trusted, and by which proxy it goes.
        method: HTTP method.
        address: what is asked.
        within: seconds for all of it, from the look-up of the name to the last byte.
        most: bytes of an answer's body.
        into: a file to which the body is written as it comes; what is returned of it is empty then.
        options: as requests takes them.

    Returns:
        Status and body; None in place of a body that is larger.

    Raises:
        OutOfTime: it took too long.
        Unanswered: it failed otherwise.
    """
    wire = _Wire()
    done: SimpleQueue[tuple[int, bytes | None] | Exception] = SimpleQueue()

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
) -> tuple[int, bytes | None]:
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
            content, size = bytearray(), 0
            for piece in answer.iter_content(PIECE):
                size += len(piece)
                if size > most:
                    return answer.status_code, None
                if into is None:
                    content += piece
                else:
                    into.write(piece)
            return answer.status_code, bytes(content)


@cache
def _tls(outbound: Outbound) -> ssl.SSLContext:
    """Return the context of all calls: it takes long to read the system's authorities."""
    return outbound.tls()


def _why(failure: Exception, address: str, outbound: Outbound) -> Notice | str:
    try:
        return why_unreachable(failure, address, outbound) or type(failure).__name__
    except ValueError:  # it is no address
        return type(failure).__name__


class _Wire:
    """What a call has connected; it can be cut from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: list[Any] = []
        self._sockets: list[socket.socket] = []
        self._is_cut = False

    def keep(self, connection: Any, connected: socket.socket) -> socket.socket:
        """Remember a connection, and its socket as one of our own: TLS takes the other one over."""
        self._connections.append(connection)
        with self._lock:
            if self._is_cut:
                connected.close()
                raise TimeoutError
            self._sockets.append(connected.dup())
        return connected

    def close(self) -> None:
        """Close the connections: the library would leave that to chance."""
        for one in self._connections:
            one.close()

    def cut(self) -> None:
        """End whatever waits for it; what is connected from now on is closed at once."""
        with self._lock:
            self._is_cut = True
            for one in self._sockets:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()
            self._sockets.clear()


class _Adapter(HTTPAdapter):
    """Has the connections of a call kept where they can be cut."""

    def __init__(self, wire: _Wire, tls: ssl.SSLContext) -> None:
        self._wire, self._tls = wire, tls
        super().__init__()

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        """Keep what is connected directly."""
        super().init_poolmanager(*arguments, **{**options, "ssl_context": self._tls})
        _keep(self.poolmanager, self._wire)

    def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:
        """Keep what is connected to a proxy."""
        manager: Any = super().proxy_manager_for(*arguments, **{**options, "ssl_context": self._tls})
        _keep(manager, self._wire)
        return manager


def _keep(manager: Any, wire: _Wire) -> None:
    """Have a manager's pools make connections that the wire knows from their first moment, before TLS."""
    manager.pool_classes_by_scheme = {
        scheme: type("Pool", (pool,), {"ConnectionCls": _kept(pool.ConnectionCls, wire)})
        for scheme, pool in manager.pool_classes_by_scheme.items()
    }


def _kept(kind: Any, wire: _Wire) -> type:
    def new_conn(self: Any) -> socket.socket:
        return wire.keep(self, kind._new_conn(self))

    return type("Connection", (kind,), {"_new_conn": new_conn})
