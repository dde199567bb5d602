"""Watches one call on the socket: was anything sent, and is its time up?

The library's time-outs bound single socket operations, so a trickling answer could last for ever; and its
exceptions do not tell whether the request had left. Both are known where the socket is.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import NewConnectionError

from shared.addresses import why_forbidden

_current = threading.local()


class Watch:
    """What is known of the call under way in this thread.

    Args:
        seconds: time for the whole call.
        before_send: called once, right before the request leaves; whatever it raises stops the call.

    Attributes:
        sent: whether a byte of the request may have left.
        expired: whether the whole call's time is up.
        forbidden: what the address is that may not be connected to; empty: it may.
    """

    def __init__(
        self, seconds: float, before_send: Callable[[], None] | None = None, *, allow_link_local: bool = False
    ) -> None:
        self.sent = False
        self.expired = False
        self.forbidden = ""
        self._allow_link_local = allow_link_local
        self._socket: socket.socket | None = None
        self._deadline = time.monotonic() + seconds
        self._before_send = before_send

    def allow(self) -> None:
        """Ask whether the request may leave, and note that it does."""
        if self._before_send is not None:
            self._before_send()
        self.sent = True

    def left(self) -> float:
        """Return the seconds that are left of the call's time, at least a moment."""
        return max(0.001, self._deadline - time.monotonic())

    def admits(self, address: str) -> bool:
        """Tell whether an address that a name led to may be connected to, and remember why not."""
        reason = None if self._allow_link_local else why_forbidden(address)
        if reason:
            self.forbidden = reason
        return not reason

    def guard(self, connected: socket.socket | None) -> None:
        """Remember the socket that is to be shut when the time is up."""
        self._socket = connected
        if self.expired and connected is not None:
            self.expire()

    def expire(self) -> None:
        """End the call: whoever reads or writes the socket sees it closed."""
        self.expired = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


@contextmanager
def watching(
    seconds: float, before_send: Callable[[], None] | None = None, *, allow_link_local: bool = False
) -> Iterator[Watch]:
    """Watch the call made inside the block by this thread.

    Args:
        seconds: time for the whole call, its answer's body included.
        before_send: called right before the request leaves, after the connection is made.
        allow_link_local: whether link-local and cloud-metadata addresses may be connected to.
    """
    watch = _current.watch = Watch(seconds, before_send, allow_link_local=allow_link_local)
    timer = threading.Timer(seconds, watch.expire)
    timer.daemon = True
    timer.start()
    try:
        yield watch
    finally:
        watch.guard(None)
        timer.cancel()
        _current.watch = None


Addresses = list[tuple[Any, ...]]


def _resolve(host: str, port: int, seconds: float | None) -> Addresses:
    """Return the addresses of a name; the system's resolver has time-outs of its own, so it is not waited for.

    Raises:
        OSError: it has none, or none in time.
    """
    found: SimpleQueue[Addresses | Exception] = SimpleQueue()

    def look() -> None:
        try:
            found.put(list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
        except Exception as failure:  # noqa: BLE001 (raised where it is waited for)
            found.put(failure)

    threading.Thread(target=look, name="resolver", daemon=True).start()
    try:
        answer = found.get(timeout=seconds)
    except Empty:
        raise TimeoutError("the name was not resolved in time") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


class _Watched:
    """Mixed into urllib3's connections: reports to the watch of the thread that uses them."""

    sock: socket.socket | None
    port: int
    timeout: float | None
    _dns_host: str
    _gathered: bytearray | None = None

    def request(self, *args: Any, **kwargs: Any) -> None:
        """Send head and body as one: a process that is stopped in between would send the body when it continues."""
        self._gathered = bytearray()
        try:
            super().request(*args, **kwargs)  # type: ignore[misc]
            whole = bytes(self._gathered)
        finally:
            self._gathered = None
        self.send(whole)

    def _new_conn(self) -> socket.socket:
        """Connect to one address after the other within the call's time; the library gives each the whole of it.

        The very addresses that are connected to are checked first: a name may lead elsewhere the next time.
        """
        watch: Watch | None = getattr(_current, "watch", None)
        error: OSError = TimeoutError("no address")
        addresses = _resolve(self._dns_host, self.port, watch.left() if watch else self.timeout)
        if watch and not all(watch.admits(str(address[0])) for *_, address in addresses):
            raise NewConnectionError(self, watch.forbidden)  # type: ignore[arg-type]
        for tried, (*kind, _, address) in enumerate(addresses):
            connecting = socket.socket(*kind)
            connecting.settimeout(watch.left() / (len(addresses) - tried) if watch else self.timeout)
            try:
                connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connecting.connect(address)
                return connecting
            except OSError as failed:
                connecting.close()
                error = failed
        # a bare reset would be taken for one while sending, and passed over
        raise NewConnectionError(self, str(error)) from error  # type: ignore[arg-type]

    def send(self, data: Any) -> None:
        """Connect first, so that a failure to connect is known to have sent nothing; then ask whether it may leave."""
        if self._gathered is not None:
            self._gathered += data
            return
        if self.sock is None:
            self.connect()  # type: ignore[attr-defined]
        watch: Watch | None = getattr(_current, "watch", None)
        if watch is not None:
            watch.guard(self.sock)
            watch.allow()
        super().send(data)  # type: ignore[misc]


class _HttpConnection(_Watched, HTTPConnection):
    pass


class _HttpsConnection(_Watched, HTTPSConnection):
    pass


class _HttpPool(HTTPConnectionPool):
    ConnectionCls = _HttpConnection


class _HttpsPool(HTTPSConnectionPool):
    ConnectionCls = _HttpsConnection


class WatchedAdapter(HTTPAdapter):
    """An adapter of one connection without retries of its own."""

    def __init__(self) -> None:
        super().__init__(pool_connections=1, pool_maxsize=1, max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Use connections that report to the watch."""
        super().init_poolmanager(*args, **kwargs)
        manager: PoolManager = self.poolmanager
        manager.pool_classes_by_scheme = {"http": _HttpPool, "https": _HttpsPool}
