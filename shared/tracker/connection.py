"""One connection to the tracker that knows of each call: was anything sent, and is its time up?

A library's time-outs bound single socket operations, so a trickling answer could last for ever; and its exceptions do
not tell whether the request had left. Both are known where the socket is: here every wait for it ends when the call's
time does, and what is sent leaves in one place.
"""

from __future__ import annotations

import select
import socket
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import SplitResult

from shared.codes.notice import Notice
from shared.process.outbound import authorization, tunnel
from shared.tracker.wire import Answers, request
from shared.values.addresses import why_forbidden

PORTS = {"http": 80, "https": 443}
PIECE = 64 * 1024
WOULD_WAIT = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Watch:
    """What is known of a call.

    Args:
        seconds: time for the whole call, its answer's body included.
        before_send: called right before the request leaves, the connection made; whatever it raises stops the call.
        allow_link_local: whether link-local and cloud-metadata addresses may be connected to.

    Attributes:
        sent: whether a byte of the request may have left.
        until: when the call's time is over (monotonic seconds).
        forbidden: what the address is that may not be connected to; None: it may.
    """

    def __init__(
        self, seconds: float, before_send: Callable[[], None] | None = None, *, allow_link_local: bool = False
    ) -> None:
        self.sent = False
        self.forbidden: Notice | None = None
        self._allow_link_local = allow_link_local
        self.until = time.monotonic() + seconds
        self._before_send = before_send

    @property
    def is_over(self) -> bool:
        """Whether the whole call's time is up."""
        return time.monotonic() >= self.until

    def left(self) -> float:
        """Return the seconds that are left of the call's time.

        Raises:
            TimeoutError: none.
        """
        seconds = self.until - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("the call's time is over")
        return seconds

    def allow(self) -> None:
        """Ask whether the request may leave, and note that it does."""
        if self._before_send is not None:
            self._before_send()
        self.sent = True

    def admits(self, address: str) -> bool:
        """Tell whether an address that a name led to may be connected to, and remember why not."""
        reason = None if self._allow_link_local else why_forbidden(address)
        if reason:
            self.forbidden = reason
        return not reason


class Connection:
    """A connection that is kept alive from call to call; used by one thread at a time.

    Args:
        address: the tracker's.
        tls: how its certificate is checked, where it speaks TLS.
        proxy: the proxy by which it is called; None: directly.
    """

    def __init__(
        self, address: SplitResult, tls: ssl.SSLContext | None, proxy: SplitResult | None = None
    ) -> None:
        self._proxy = proxy
        self.host, self.port = address.hostname or "", address.port or PORTS[address.scheme]
        self._has_usual_port = self.port == PORTS[address.scheme]
        self._tls = tls
        self._sock: socket.socket | None = None
        self._answers = Answers()
        self._left = memoryview(b"")
        self._used_at = 0.0
        self._open: list[socket.socket] = []
        weakref.finalize(self, _close, self._open)

    @property
    def idle(self) -> float:
        """Seconds since the end of the last call."""
        return time.monotonic() - self._used_at

    def exchange(
        self, watch: Watch, method: str, url: str, body: bytes | None, headers: Mapping[str, str | bytes]
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Make one call within its time; without a whole answer the connection is closed.

        Args:
            watch: of this call.
            method: HTTP method.
            url: path and query.
            body: what is sent with it.
            headers: beside those of the connection itself.

        Returns:
            Status, headers and body of the answer.

        Raises:
            OSError, ValueError, zlib.error: there is no whole answer; `watch` knows more.
        """
        with self._closed_by_an_error():
            whole = self._request(method, url, headers, body)
            sock = self._connected(watch)
            self._begin(watch, sock, whole)
            return self._finish(watch, sock)

    @contextmanager
    def _closed_by_an_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise
        finally:
            self._used_at = time.monotonic()

    @property
    def is_there(self) -> bool:
        """Whether a request can be sent without connecting first."""
        return self._sock is not None and not _has_ended(self._sock)

    def begin(
        self, watch: Watch, method: str, url: str, body: bytes | None, headers: Mapping[str, str | bytes]
    ) -> None:
        """Send a request on the connection that is there, as far as that goes without waiting; as for `exchange`."""
        with self._closed_by_an_error():
            self._begin(watch, self._socket, self._request(method, url, headers, body))

    def _request(
        self, method: str, url: str, headers: Mapping[str, str | bytes], body: bytes | None
    ) -> bytes:
        """Return a request as it is sent: a proxy that reads it is given the whole address, and who we are."""
        if self._proxy is None or self._tls is not None:
            return request(method, url, self._named, headers, body)
        whole = f"http://{self._named.decode('ascii')}{url}"
        if (said := authorization(self._proxy)) is not None:
            headers = {**headers, "Proxy-Authorization": said}
        return request(method, whole, self._named, headers, body)

    @property
    def has_sent(self) -> bool:
        """Whether the request that was begun has left as a whole."""
        return not self._left

    def fileno(self) -> int:
        """Return the number by which the system knows the connection; -1: it is closed."""
        return -1 if self._sock is None else self._sock.fileno()

    def has_answer(self) -> bool:
        """Take what has come of the answer to what was begun, without waiting; tell whether it is whole."""
        with self._closed_by_an_error():
            try:
                while not self._answers.is_whole:
                    self._take_piece(self._socket)
            except WOULD_WAIT:
                return False
            return True

    def finish(self, watch: Watch) -> tuple[int, Mapping[str, str], bytes]:
        """Return the answer to what was begun, waiting for whatever is missing; as for `exchange`."""
        with self._closed_by_an_error():
            return self._finish(watch, self._socket)

    def close(self) -> None:
        """Close the connection; the next call makes another one."""
        self._left = memoryview(b"")
        if self._sock is not None:
            self._sock.close()
            self._sock = None

    @cached_property
    def _named(self) -> bytes:
        """What the header Host says; a name that cannot be written in it is an error of each call."""
        if ":" in self.host:
            host = b"[%s]" % self.host.partition("%")[0].encode("ascii")
        else:
            host = self.host.encode("ascii" if self.host.isascii() else "idna")
        return host if self._has_usual_port else b"%s:%d" % (host, self.port)

    @property
    def _socket(self) -> socket.socket:
        if self._sock is None:
            raise ConnectionError("it is closed")
        return self._sock

    def _connected(self, watch: Watch) -> socket.socket:
        if self._sock is not None and _has_ended(self._sock):
            self.close()
        if self._sock is None:
            self._sock, self._answers = self._connect(watch), Answers()
            self._open[:] = [self._sock]
        return self._sock

    def _begin(self, watch: Watch, sock: socket.socket, whole: bytes) -> None:
        """Ask whether a request may leave, now that there is a connection, and send what leaves without waiting.

        What fails before is known to have sent nothing. Head and body leave as one: a process that is stopped between
        them would send the body later.
        """
        self._left = memoryview(whole)
        if sock.gettimeout() != 0:
            sock.settimeout(0)
        watch.allow()
        watch.left()
        with suppress(*WOULD_WAIT):
            self._left = self._left[sock.send(self._left) :]

    def _finish(self, watch: Watch, sock: socket.socket) -> tuple[int, Mapping[str, str], bytes]:
        _send(watch, sock, self._left)
        self._left = memoryview(b"")
        while not self._answers.is_whole:
            sock.settimeout(watch.left())
            self._take_piece(sock)
        answer = self._answers.take()
        if not self._answers.keeps:
            self.close()
        return answer

    def _take_piece(self, sock: socket.socket) -> None:
        if piece := sock.recv(PIECE):
            self._answers.feed(piece)
        else:
            self._answers.end()

    def _connect(self, watch: Watch) -> socket.socket:
        """Connect to one address after the other within the call's time.

        The very addresses that are connected to are checked first: a name may lead elsewhere the next time.

        Raises:
            OSError: none could be connected to.
        """
        error = OSError("no address")
        host, port = self.host, self.port
        if self._proxy is not None:  # which looks up the name itself
            host, port = self._proxy.hostname or "", self._proxy.port or 3128
        addresses = _resolve(host, port, watch.left())
        if not all(watch.admits(str(address[0])) for *_, address in addresses):
            raise OSError("an address that may not be connected to")
        for tried, (*kind, _, address) in enumerate(addresses):
            connecting = socket.socket(*kind)
            try:
                connecting.settimeout(watch.left() / (len(addresses) - tried))
                connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connecting.connect(address)
                return self._secured(watch, connecting)
            except OSError as failed:
                connecting.close()
                error = failed
        raise error

    def _secured(self, watch: Watch, connected: socket.socket) -> socket.socket:
        if self._tls is None:
            return connected
        connected.settimeout(watch.left())  # Python's, for the whole handshake
        if self._proxy is not None:
            tunnel(connected, self._proxy, self.host, self.port)
        return self._tls.wrap_socket(connected, server_hostname=self.host)


def _send(watch: Watch, sock: socket.socket, left: memoryview) -> None:
    while left:
        sock.settimeout(watch.left())
        left = left[sock.send(left) :]


def _close(sockets: list[socket.socket]) -> None:
    """Close the sockets of a connection that is gone; its own end might come after theirs, which would be a warning."""
    for sock in sockets:
        sock.close()


def _has_ended(sock: socket.socket) -> bool:
    """Tell whether the other side has closed a connection, or says something that nobody asked for."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)  # below TLS, too
    return bool(poll.poll(0))


Addresses = list[tuple[Any, ...]]


def _resolve(host: str, port: int, seconds: float) -> Addresses:
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
