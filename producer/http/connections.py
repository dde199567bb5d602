"""Serves connections: uvicorn, with the limits that it lacks (decision 14).

uvicorn waits forever: for a connection's first byte, for the end of a request, and for a client to read the response.
The application never sees any of that.
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import partial
from ipaddress import IPv4Network, IPv6Network
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from producer.http.sources import is_among, source_of

ARRIVAL_S = 20.0
"""Time limit from the first byte of a request, or from the connection, to the request's last byte. It is longer than
the limit for a body, so that a slow body is answered before its connection is cut."""

ANSWER_S = 30.0
"""Time limit from the first byte of a request until the last byte of the response was read."""

KNOWN = "known"
"""Key in the request's state. If the application has authenticated the client (a signature, a token), it stores here
how many seconds the response may take instead."""

MOST_CONNECTIONS = 500
MOST_OF_ONE_ADDRESS = 100

LARGEST_HEAD = 64 * 1024
"""Maximum bytes of a request's line and headers together, and of consecutive bytes without any body: the parser
has no limit of its own."""

GRACE_S = 2.0
"""How long a request may wait before its connection can be cut: in a flood, one pass of the event loop takes long."""

OPEN_FILES = 8192
"""How many open files a server allows itself, if the system permits it: many are accepted before the first is cut."""

BACKLOG = 1024
"""How many connections wait to be accepted, and how many are accepted in one pass of the event loop."""


class ConnectionLimiter:
    """The connections of a server. If there are too many, those that keep the server waiting are cut.

    Those of the address with the most connections are cut first, and of these the ones that have waited longest.
    Those of authenticated clients are cut last. A connection that is being served is not cut, and a new one only if
    there are twice as many as allowed; if all of these are being served, the next connection is cut.

    Args:
        proxies: addresses whose connections carry many clients: they have no limit of their own, and are cut last.
    """

    def __init__(self, proxies: Sequence[IPv4Network | IPv6Network] = ()) -> None:
        self._proxies = proxies
        self._by_source: defaultdict[str, set[GuardedProtocol]] = defaultdict(set)
        self._will_look = False

    def join(self, one: GuardedProtocol) -> None:
        """Add a connection."""
        one.is_proxy = is_among(one.client[0], self._proxies) if one.client and self._proxies else False
        neighbours = self._by_source[one.source]
        neighbours.add(one)
        if self._count > 2 * MOST_CONNECTIONS:
            self._make_room(one.loop.time())
        if self._count > 2 * MOST_CONNECTIONS:
            one.cut()
        self._look_soon(one.loop)

    def leave(self, one: GuardedProtocol) -> None:
        """Remove a connection."""
        neighbours = self._by_source[one.source]
        neighbours.discard(one)
        if not neighbours:
            del self._by_source[one.source]

    @property
    def _count(self) -> int:
        return sum(map(len, self._by_source.values()))

    def _look_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        """Schedule a check in a moment, if there are too many connections."""
        needed = self._count > MOST_CONNECTIONS or any(map(self._over, self._by_source.values()))
        if needed and not self._will_look:
            self._will_look = True
            loop.call_later(GRACE_S, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._will_look = False
        self._make_room(loop.time() - GRACE_S)
        self._look_soon(loop)

    def _make_room(self, begun: float) -> None:
        """Cut the connections that are too many, if they began by then."""
        for neighbours in list(self._by_source.values()):
            self._cut(self._over(neighbours), neighbours, begun)
        everybody = [one for neighbours in self._by_source.values() for one in neighbours]
        self._cut(self._count - MOST_CONNECTIONS, everybody, begun)

    def _over(self, neighbours: set[GuardedProtocol]) -> int:
        """Return by how many connections an address exceeds its limit."""
        if len(neighbours) <= MOST_OF_ONE_ADDRESS:
            return 0
        return max(0, sum(not one.is_proxy for one in neighbours) - MOST_OF_ONE_ADDRESS)

    def _cut(self, count: int, among: Iterable[GuardedProtocol], begun: float) -> None:
        """Cut the first `count` in order. A connection that began later is spared, and no other is cut instead."""
        if count > 0:
            waiting = [one for one in among if not one.is_served]
            for one in sorted(waiting, key=self._eviction_order)[:count]:
                if one.since <= begun:
                    one.cut()

    def _eviction_order(self, one: GuardedProtocol) -> tuple[bool, int, float]:
        share = 0 if one.is_proxy else len(self._by_source[one.source])
        return one.patience is not None, -share, one.since


class Phase(Enum):
    """How much of a request has arrived."""

    NOTHING = "nothing"
    HEAD = "some of its head"
    BODY = "its head"
    ALL = "all of it, and the answer is under way"


class RequestRefused(Exception):
    """A request that the parser accepts and we refuse; it stops the parser."""


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP/1.1 with a timer, one request at a time, and no request that could be parsed in two ways.

    The timer runs from the first byte of a request until all of the response is sent. A client that sends its next
    request before it has the response (pipelining) gets the one response, and the connection is closed: its requests
    could not be limited one by one.

    Args:
        crowd: the connections of this server.
        options: uvicorn's options.

    Attributes:
        source: the source to which the connection belongs.
        is_proxy: whether it carries many clients.
        since: when its current request began, or the wait for one.
    """

    def __init__(self, *, crowd: ConnectionLimiter, **options: Any) -> None:
        super().__init__(**options)
        self._crowd = crowd
        self._clock: asyncio.TimerHandle | None = None
        self._phase = Phase.NOTHING
        self._fruitless = 0
        self.source, self.is_proxy = "", False
        self.since = self.loop.time()

    @property
    def patience(self) -> float | None:
        """How long its latest response may take if the application has authenticated the client, else None."""
        return self.cycle.scope["state"].get(KNOWN) if self.cycle else None

    @property
    def is_served(self) -> bool:
        """Whether its request has arrived, and the client is ready for the response."""
        under_way = self.cycle is not None and not self.cycle.response_complete
        return under_way and not self._is_arriving and not self.flow.write_paused

    @property
    def _is_idle(self) -> bool:
        between = self.timeout_keep_alive_task is not None and self._phase is Phase.NOTHING
        return between and not self.flow.write_paused

    @property
    def _is_arriving(self) -> bool:
        return self._phase is not Phase.ALL and not self.flow.write_paused

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the first request."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # writing is paused while anything is unsent
        self.source = source_of(self.client[0]) if self.client else ""
        self._start_clock()
        self._crowd.join(self)

    def data_received(self, data: bytes) -> None:
        """Parse the bytes that came."""
        self._unset_keepalive_if_required()
        self._start_clock()  # also for a response that ends the connection
        self._feed(data)
        self._look()

    def on_message_begin(self) -> None:
        """Start a request, unless it comes before the response to the previous one."""
        if self._phase is Phase.ALL:
            raise RequestRefused
        self._unset_keepalive_if_required()
        super().on_message_begin()
        self._phase = Phase.HEAD

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header; ignore those that follow a body (trailers)."""
        if self._phase is Phase.HEAD:
            super().on_header(name, value.rstrip(b" \t"))

    def on_headers_complete(self) -> None:
        """Start to answer the request, unless another parser might read a different request in it."""
        self._check_head()
        if self.parser.get_http_version() == "1.0":
            self.expect_100_continue = False  # such a client would take it for the response
        if not self.parser.should_upgrade():
            super().on_headers_complete()
            self._phase = Phase.BODY

    def on_body(self, body: bytes) -> None:
        """Pass on a piece of the body."""
        self._fruitless = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Accept nothing more before the response is sent."""
        if self.parser.should_upgrade():
            return
        super().on_message_complete()
        self._phase, self._fruitless = Phase.ALL, 0
        if self.cycle.response_complete:
            self._phase = Phase.NOTHING
            self._wait_for_the_next()

    def on_response_complete(self) -> None:
        """Continue with the next request."""
        super().on_response_complete()
        if self._phase is Phase.ALL:
            self._phase = Phase.NOTHING
        self._look()

    def resume_writing(self) -> None:
        """Continue, since everything was sent."""
        super().resume_writing()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer, and forget the connection."""
        self._stop_clock()
        self._crowd.leave(self)
        super().connection_lost(exc)

    def cut(self) -> None:
        """End the connection at once."""
        self._stop_clock()
        self._crowd.leave(self)
        self.transport.abort()

    def _feed(self, data: bytes) -> None:
        self._fruitless += len(data)
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade as asked:
            self._feed_without_upgrade(data[asked.args[0] :])
        except HttpParserError:
            self._refuse()
        else:
            if self._fruitless > LARGEST_HEAD:
                self._refuse()

    def _feed_without_upgrade(self, rest: bytes) -> None:
        """Parse a request for another protocol again as a plain one: we support none, and its body was left out."""
        version = self.parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s\r\n" % (self.parser.get_method(), self.url, version)]
        lines += [b"%s: %s\r\n" % header for header in self.headers if header[0] != b"upgrade"]
        self.parser = HttpRequestParser(self)
        self._fruitless = 0
        self._feed(b"".join([*lines, b"\r\n", rest]))

    def _check_head(self) -> None:
        """Refuse what HTTP/1.1 refuses, and what a proxy in front of us might parse in another way.

        Raises:
            RequestRefused: if it is such a request.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version()
        hosts, codings, size = 0, [], len(self.url)
        for name, value in self.headers:
            size += len(name) + len(value) + len(b": \r\n")
            if name == b"host":
                hosts += 1
            elif name == b"transfer-encoding":
                codings.append(value.lower())
        is_whole = hosts == 1 or (hosts == 0 and version == "1.0")
        if version not in ("1.0", "1.1") or not is_whole or codings not in ([], [b"chunked"]):
            raise RequestRefused
        if size > LARGEST_HEAD or not self.url.startswith(b"/") or b"#" in self.url or method == b"CONNECT":
            raise RequestRefused

    def _refuse(self) -> None:
        """Close the connection after what the parser cannot read, with a response unless there is one already."""
        if self._phase is Phase.ALL:  # the request itself was valid, but not what came after it
            self.cycle.keep_alive = False
            return
        self.logger.warning("Invalid HTTP request received.")
        if self._phase is Phase.BODY and self.cycle.response_started:
            self.transport.close()
        else:
            self.send_400_response("Invalid HTTP request received.")

    def _wait_for_the_next(self) -> None:
        self._unset_keepalive_if_required()
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )

    def _look(self) -> None:
        """Keep the timer running during a request; between two requests uvicorn's own limit applies."""
        if not self._is_idle:
            self._start_clock()
        elif self._clock:
            self._stop_clock()
            self.since = self.loop.time()

    def _overdue(self) -> None:
        """Cut the connection, unless its request has arrived and may take longer."""
        may_take = ARRIVAL_S if self._is_arriving else self.patience or ANSWER_S
        left = self.since + may_take - self.loop.time()
        if left > 0:
            self._clock = self.loop.call_later(left, self._overdue)
        else:
            self.cut()

    def _start_clock(self) -> None:
        if self._clock is None and not self.transport.is_closing():
            self.since = self.loop.time()
            self._clock = self.loop.call_later(ARRIVAL_S, self._overdue)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None


def server_options(proxies: Sequence[IPv4Network | IPv6Network] = ()) -> dict[str, Any]:
    """Return the uvicorn options that producer and console share.

    Args:
        proxies: proxies that are trusted to report a client's address (setting TRUSTED_PROXIES).
    """
    return {
        "http": partial(GuardedProtocol, crowd=ConnectionLimiter(proxies)),
        "ws": "none",
        "backlog": BACKLOG,
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": bool(proxies),
        "forwarded_allow_ips": [str(network) for network in proxies],
    }


def allow_open_files() -> None:
    """Raise this process's limit of open files to what its connections may need."""
    if sys.platform == "win32":
        return
    import resource

    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY != allowed < OPEN_FILES:
        wanted = OPEN_FILES if most == resource.RLIM_INFINITY else min(most, OPEN_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
