"""One connection to the tracker that knows of each call: was anything sent, and is its time up?

A library's time-outs bound single socket operations, so a trickling answer could last for ever; and its exceptions do
not tell whether the request had left. Both are known where the socket is: here every wait for it ends when the call's
time does, and what is sent leaves in one place.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import SplitResult

from shared.codes.coded import Coded
from shared.values.addresses import why_forbidden

LARGEST_ANSWER = 16 * 1024 * 1024
PORTS = {"http": 80, "https": 443}
GZIP = 16 + zlib.MAX_WBITS


class Watch:
    """What is known of a call.

    Args:
        seconds: time for the whole call, its answer's body included.
        before_send: called right before the request leaves, the connection made; whatever it raises stops the call.
        allow_link_local: whether link-local and cloud-metadata addresses may be connected to.

    Attributes:
        sent: whether a byte of the request may have left.
        forbidden: what the address is that may not be connected to; None: it may.
    """

    def __init__(
        self, seconds: float, before_send: Callable[[], None] | None = None, *, allow_link_local: bool = False
    ) -> None:
        self.sent = False
        self.forbidden: Coded | None = None
        self._allow_link_local = allow_link_local
        self._deadline = time.monotonic() + seconds
        self._before_send = before_send

    @property
    def is_over(self) -> bool:
        """Whether the whole call's time is up."""
        return time.monotonic() >= self._deadline

    def left(self) -> float:
        """Return the seconds that are left of the call's time.

        Raises:
            TimeoutError: none.
        """
        seconds = self._deadline - time.monotonic()
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


class Connection(http.client.HTTPConnection):
    """A connection that is kept alive from call to call; used by one thread at a time.

    Args:
        address: the tracker's.
        tls: how its certificate is checked, where it speaks TLS.
    """

    def __init__(self, address: SplitResult, tls: ssl.SSLContext | None) -> None:
        self.default_port = PORTS[address.scheme]
        super().__init__(address.hostname or "", address.port or self.default_port)
        self._tls = tls
        self._watch = Watch(0)
        self._unsent = b""
        self._used_at = 0.0
        self._open: list[socket.socket] = []
        weakref.finalize(self, _close, self._open)

    @property
    def idle(self) -> float:
        """Seconds since the end of the last call."""
        return time.monotonic() - self._used_at

    def exchange(
        self, watch: Watch, method: str, url: str, body: bytes | None, headers: Mapping[str, str | bytes]
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
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
            HTTPException, OSError, ValueError, zlib.error: there is no whole answer; `watch` knows more.
        """
        self._watch, self._unsent = watch, b""
        self.response_class = partial(_Response, watch)  # type: ignore[assignment]
        try:
            if self.sock is not None and _has_ended(self.sock):
                self.close()
            self.request(method, url, body, headers)
            self._send_whole()
            with self.getresponse() as answer:
                return answer.status, answer.headers, _read(answer)
        except BaseException:
            self.close()
            raise
        finally:
            self._used_at = time.monotonic()

    def send(self, data: Any) -> None:
        """Gather: http.client sends head and body apart, and a process stopped between would send the body later."""
        self._unsent += data

    def _send_whole(self) -> None:
        """Connect first, so that a failure to connect is known to have sent nothing; then ask whether it may leave."""
        if self.sock is None:
            self.connect()
        left = memoryview(self._unsent)
        self._watch.allow()
        while left:
            self.sock.settimeout(self._watch.left())
            left = left[self.sock.send(left) :]

    def connect(self) -> None:
        """Connect to one address after the other within the call's time.

        The very addresses that are connected to are checked first: a name may lead elsewhere the next time.

        Raises:
            OSError: none could be connected to.
        """
        error = OSError("no address")
        addresses = _resolve(self.host, self.port, self._watch.left())
        if not all(self._watch.admits(str(address[0])) for *_, address in addresses):
            raise OSError("an address that may not be connected to")
        for tried, (*kind, _, address) in enumerate(addresses):
            connecting = socket.socket(*kind)
            try:
                connecting.settimeout(self._watch.left() / (len(addresses) - tried))
                connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connecting.connect(address)
                self.sock = self._secured(connecting)
                self._open[:] = [self.sock]
            except OSError as failed:
                connecting.close()
                error = failed
            else:
                return
        raise error

    def _secured(self, connected: socket.socket) -> socket.socket:
        if self._tls is None:
            return connected
        connected.settimeout(self._watch.left())  # Python's, for the whole handshake
        return self._tls.wrap_socket(connected, server_hostname=self.host)


class _Response(http.client.HTTPResponse):
    """An answer that is read within its call's time."""

    def __init__(self, watch: Watch, sock: socket.socket, **options: Any) -> None:
        super().__init__(sock, **options)
        self.fp: io.BufferedReader = io.BufferedReader(_InTime(watch, sock, self.fp.detach()))


class _InTime(io.RawIOBase):
    """What comes from a socket, as long as the call's time lasts."""

    def __init__(self, watch: Watch, sock: socket.socket, raw: io.RawIOBase) -> None:
        self._watch, self._sock, self._raw = watch, sock, raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._watch.left())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _read(answer: http.client.HTTPResponse) -> bytes:
    """Return the whole body.

    Raises:
        HTTPException, OSError, zlib.error: it is not whole, or too large.
    """
    content = answer.read(LARGEST_ANSWER + 1)
    if answer.length:
        raise http.client.IncompleteRead(content, answer.length)
    if answer.headers.get("Content-Encoding", "").lower() == "gzip":
        inflating = zlib.decompressobj(GZIP)
        content = inflating.decompress(content, LARGEST_ANSWER + 1)
        if not inflating.eof:
            raise http.client.IncompleteRead(content)
    if len(content) > LARGEST_ANSWER:
        raise http.client.HTTPException("the answer is too large")
    return content


def _close(sockets: list[socket.socket]) -> None:
    """Close the sockets of a connection that is gone; its own end might come after theirs, which would be a warning."""
    for sock in sockets:
        sock.close()


def _has_ended(sock: socket.socket) -> bool:
    """Tell whether the other side has closed a connection, or says something that nobody asked for."""
    sock.settimeout(0)
    try:
        socket.socket.recv(sock, 1, socket.MSG_PEEK)  # below TLS, too
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


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
