"""The aiohttp sessions of an event loop, one for each way to connect to the tracker, with guards around aiohttp.

The guards rely on internals of aiohttp 3.14; tests verify them (decision 26).
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

from aiohttp import (
    AddrInfoType,
    ClientHandlerType,
    ClientOSError,
    ClientRequest,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    ServerDisconnectedError,
    TCPConnector,
    TraceConfig,
)
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection

from shared.notices.notice import Notice
from shared.process.outbound import Outbound
from shared.values.addresses import why_forbidden

IDLE_S = 1.0
"""No call uses a connection that was idle for longer, because the tracker may be closing it."""
LOOKUPS = 4
"""Concurrent name lookups; they are limited because the system resolver's time-outs are longer than a call's."""
NUMERIC = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV


class ForbiddenAddress(OSError):
    """The tracker may not have this address.

    Args:
        reason: why not.
    """

    def __init__(self, reason: Notice) -> None:
        super().__init__("an address that may not be connected to")
        self.reason = reason


class ConnectionBroken(Exception):
    """The connection failed. Aiohttp repeats a call after its own connection errors, but not after this one."""


class NotAllowed(Exception):
    """The request may no longer be sent; `SendGuard.refusal` has the reason."""


class SendGuard:
    """Checks right before a request is sent whether that is allowed, and records whether a byte may have been sent.

    Args:
        before_send: any exception that it raises stops the call.
        seconds: the time limit of the whole call.
        has_body: whether the request has a body; if so, its headers are sent together with it.

    Attributes:
        sent: whether a byte of the request may have been sent.
        refusal: the exception that `before_send` raised.
    """

    def __init__(self, before_send: Callable[[], None] | None, seconds: float, *, has_body: bool) -> None:
        self.sent = False
        self.refusal: BaseException | None = None
        self.has_body = has_body
        self._before_send = before_send
        self._until = time.monotonic() + seconds
        self._transport: asyncio.Transport | None = None

    @property
    def is_over(self) -> bool:
        """Whether the call's time is over."""
        return time.monotonic() >= self._until

    def uses(self, connection: Connection) -> None:
        """Record the connection that sends the request."""
        self._transport = connection.transport

    def allow(self) -> None:
        """Check whether the request may be sent, and record that it is.

        Raises:
            NotAllowed: if `before_send` raised an exception.
            TimeoutError: if the call's time is over.
        """
        if self.sent:  # a further piece of its body
            return
        try:
            if self._before_send is not None:
                self._before_send()
        except BaseException as refusal:  # noqa: BLE001 (raised once aiohttp has given up the request)
            self.refusal = refusal
            raise NotAllowed from None
        if self.is_over:
            raise TimeoutError("the call's time is over")
        self.sent = True

    def abort(self) -> None:
        """Stop sending at once; a transport that is only closed still sends its buffer."""
        if self._transport is not None:
            self._transport.abort()


GUARD: ContextVar[SendGuard] = ContextVar("GUARD")
"""The guard of the current call; a context variable, because aiohttp passes nothing of ours to its connector."""


class Resolver(AbstractResolver):
    """Resolves names in daemon threads, and rejects a name that has a forbidden address.

    Args:
        check: raises an exception for a forbidden address.
    """

    def __init__(self, check: Callable[[str], None]) -> None:
        self._check = check
        self._free = asyncio.Semaphore(LOOKUPS)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return all addresses of a name.

        Raises:
            OSError: if it has none, or one of them is forbidden.
        """
        found = []
        for kind, _, proto, _, address in await self._look_up(host, port, family):
            self._check(str(address[0]))
            scope = f"%{address[3]}" if len(address) > 2 and address[3] else ""
            found.append(
                ResolveResult(
                    hostname=host,
                    host=f"{address[0]}{scope}",
                    port=address[1],
                    family=kind,
                    proto=proto,
                    flags=NUMERIC,
                )
            )
        return found

    async def close(self) -> None:
        """Do nothing, since there is nothing to close."""

    async def _look_up(self, host: str, port: int, family: int) -> list[Any]:
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        answer = loop.create_future()

        def end(found: list[Any] | Exception) -> None:
            self._free.release()
            if answer.done():  # the call's time is over
                return
            if isinstance(found, Exception):
                answer.set_exception(found)
            else:
                answer.set_result(found)

        def look() -> None:
            found: list[Any] | Exception
            try:
                found = list(socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM))
            except Exception as failure:  # noqa: BLE001 (raised where it is waited for)
                found = failure
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(end, found)

        threading.Thread(target=look, name="resolver", daemon=True).start()
        return await answer  # type: ignore[no-any-return]


class Connector(TCPConnector):
    """Closes an idle connection on which the server has sent unsolicited data, instead of reusing it."""

    async def connect(self, *arguments: Any, **options: Any) -> Connection:
        """Return a connection for a request."""
        while True:
            connection = await super().connect(*arguments, **options)
            if connection.protocol is not None and not connection.protocol.should_close:
                GUARD.get().uses(connection)
                return connection
            connection.close()  # the data would be treated as the answer


def session_for(outbound: Outbound, *, verify_tls: bool, allow_link_local: bool) -> ClientSession:
    """Return the running loop's session for one way to connect to the tracker.

    Args:
        outbound: the trusted certificate authorities and the proxy.
        verify_tls: whether the tracker's certificate is checked.
        allow_link_local: whether the tracker may have a link-local or cloud-metadata address.
    """
    sessions = _SESSIONS.setdefault(asyncio.get_running_loop(), {})
    key = (outbound, verify_tls, allow_link_local)
    if key not in sessions:
        sessions[key] = _session(outbound, verify_tls=verify_tls, allow_link_local=allow_link_local)
    return sessions[key]


async def close_sessions() -> None:
    """Close the sessions of the running loop, which is about to end."""
    for session in _SESSIONS.pop(asyncio.get_running_loop(), {}).values():
        await session.close()
    await asyncio.sleep(0)  # lets the transports close


_SESSIONS: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Any, ClientSession]] = WeakKeyDictionary()


def _session(outbound: Outbound, *, verify_tls: bool, allow_link_local: bool) -> ClientSession:
    def check(address: str) -> None:
        if not allow_link_local and (reason := why_forbidden(address)):
            raise ForbiddenAddress(reason)

    def make_socket(address: AddrInfoType) -> socket.socket:
        family, kind, proto, _, (host, *_) = address
        check(str(host))
        return socket.socket(family, kind, proto)

    connector = Connector(
        ssl=outbound.tls(verify=verify_tls),
        resolver=Resolver(check),
        socket_factory=make_socket,
        use_dns_cache=False,
        keepalive_timeout=IDLE_S,
        limit=0,
    )
    trace = TraceConfig()
    trace.on_request_headers_sent.append(_before_headers)
    trace.on_request_chunk_sent.append(_before_chunk)
    return ClientSession(
        connector=connector,
        cookie_jar=DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        skip_auto_headers=["Content-Type"],
        timeout=ClientTimeout(),
        middlewares=[_never_repeated],
        trace_configs=[trace],
    )


async def _before_headers(*_: object) -> None:
    """Check whether a request without a body may be sent; its headers are written right after this."""
    if not (guard := GUARD.get()).has_body:
        guard.allow()


async def _before_chunk(*_: object) -> None:
    """Check whether a request with a body may be sent; its headers wait for the first piece of the body."""
    GUARD.get().allow()


async def _never_repeated(request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
    """Prevent aiohttp from repeating a call."""
    try:
        return await handler(request)
    except (ClientOSError, ServerDisconnectedError) as error:
        raise ConnectionBroken from error
