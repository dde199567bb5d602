"""The tracker's HTTP side: kept connections, the one used last first; five seconds per call, no retries of its own."""

from __future__ import annotations

import time
import zlib
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import quote, urlencode, urlsplit

from pydantic import SecretStr

from shared.codes.faults import Detail, Fault
from shared.codes.notice import Notice
from shared.errors import (
    BridgeError,
    ImpersonationRefused,
    LockBusy,
    OutcomeUnknown,
    Outdated,
    TrackerAway,
    TrackerClosed,
    TrackerError,
    TrackerRejected,
    TrackerUnreachable,
)
from shared.process.alive import alive
from shared.process.outbound import DIRECT, Outbound, why_unreachable
from shared.telemetry import metrics, tracing
from shared.telemetry.logs import get_logger
from shared.tracker.answers import (
    Answer,
    RawAnswer,
    is_foreign,
    raw_answer,
    read_answer,
    refused_on_the_way,
    why_foreign,
)
from shared.tracker.connection import Connection, Watch
from shared.tracker.meter import LOST, Meter
from shared.values.characters import NOT_IN_A_HEADER
from shared.values.utf8 import json_bytes

log = get_logger("tracker")

TIMEOUT_S = 5.0
IDLE_S = 1.0
IN_A_PATH = "/%!$&'()*+,;=:@~"
LONGEST_LOGIN = 255
USERS = "/users.json"
"""What anybody else's key, and anything else than the tracker, does not answer as it should."""
MYSELF = "/users/current.json"
"""What every key is answered as long as the REST API is on."""
OVERLOADED = ("429", "502", "503", "504")
"""Answers of a tracker, or of a proxy in front of it, that has too many calls."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """An outbound call as the trace keeps it; never with the key."""

    method: str
    path: str
    login: str | None
    body: Any
    status: int | None
    milliseconds: int
    error: Notice | None

    @property
    def is_unclear(self) -> bool:
        """Whether it was sent and no answer says what the tracker made of it; a 4xx is the tracker's own answer."""
        is_unknown = self.error is not None and self.error.code == Fault.OUTCOME_UNKNOWN
        return is_unknown and (self.status is None or not 400 <= self.status < 500)

    @property
    def is_clear(self) -> bool:
        """Whether an answer says what the tracker made of it."""
        return self.status is not None and not self.is_unclear


@dataclass(frozen=True, slots=True)
class Target:
    """Where the tracker is and how it is spoken to.

    Attributes:
        base_url: its address without a trailing slash.
        api_key: an administrator's key.
        header_prefix: header dialect: X-<prefix>-API-Key, X-<prefix>-Switch-User.
        verify_tls: whether its certificate is checked.
        allow_link_local: whether it may be at a link-local or cloud-metadata address.
        outbound: which authorities are trusted, and by which proxy it is called.
    """

    base_url: str
    api_key: SecretStr
    header_prefix: Literal["Tracker", "Redmine"] = "Redmine"
    verify_tls: bool = True
    allow_link_local: bool = False
    outbound: Outbound = DIRECT


class Exchange:
    """One request and its answer: made as a whole where it is asked for, or begun before that, without waiting.

    Args:
        connection: used by nobody else meanwhile.
        watch: of this call.
        request: method, address, body and headers, as `Connection.exchange` takes them.
    """

    def __init__(
        self,
        connection: Connection,
        watch: Watch,
        request: tuple[str, str, bytes | None, Mapping[str, str | bytes]],
    ) -> None:
        self.connection, self.watch, self._request = connection, watch, request
        self._began = time.monotonic()
        self._ended: float | None = None
        self._is_begun = False
        self._answer: tuple[int, Mapping[str, str], bytes] | None = None
        self._error: Exception | None = None

    @property
    def until(self) -> float:
        """When its time is over (monotonic seconds)."""
        return self.watch.until

    @property
    def seconds(self) -> float:
        """What it took, or has taken until now."""
        return (self._ended or time.monotonic()) - self._began

    @property
    def is_on_its_way(self) -> bool:
        """Whether nothing is left but to wait for its answer."""
        return self._ended is None and self.connection.has_sent

    @property
    def is_plain(self) -> bool:
        """Whether there is the tracker's own answer, and it says that it was done: there is nothing to ask any more."""
        if self._answer is None:
            return False
        status = self._answer[0]
        return HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES and not is_foreign(*self._answer)

    def begin(self) -> None:
        """Send it, without waiting; what fails is told by `answer`."""
        self._is_begun = True
        try:
            self.connection.begin(self.watch, *self._request)
        except Exception as failed:  # noqa: BLE001 (raised by `answer`)
            self._end(failed)

    def look(self) -> bool:
        """Take what has come, without waiting; tell whether it is over."""
        try:
            if self.connection.has_answer():
                self._answer = self.connection.finish(self.watch)
                self._end()
        except Exception as failed:  # noqa: BLE001 (raised by `answer`)
            self._end(failed)
        return self._ended is not None

    def answer(self) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body, waiting for whatever is missing.

        Raises:
            Exception: as for `Connection.exchange`; what `before_send` has raised.
        """
        if self._error is not None:
            raise self._error
        if self._answer is None:
            if self._is_begun:
                self._answer = self.connection.finish(self.watch)
            else:
                self._answer = self.connection.exchange(self.watch, *self._request)
        return self._answer

    def _end(self, error: Exception | None = None) -> None:
        self._error, self._ended = error, time.monotonic()


class TrackerClient:
    """Calls one tracker; safe to share between threads.

    Args:
        target: the tracker.
        rate_limiter: called before each call, waits where a rate limit asks for it.
        timeout: seconds for a whole call (SPEC section 8: 5).
        meter: told what each call took.
    """

    def __init__(
        self,
        target: Target,
        *,
        rate_limiter: Callable[[], None] | None = None,
        timeout: float = TIMEOUT_S,
        meter: Meter | None = None,
    ) -> None:
        self.target = target
        self._rate_limiter = rate_limiter
        self._timeout = timeout
        self._meter = meter or Meter()
        self._kept = deque[Connection]()
        self._address = urlsplit(target.base_url)
        self._base_path = quote(self._address.path, safe=IN_A_PATH)
        is_https = self._address.scheme == "https"
        self._tls = target.outbound.tls(verify=target.verify_tls) if is_https else None
        self._proxy = target.outbound.proxy_for(self._address.hostname or "")

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        params: Mapping[str, str | int] | None = None,
        login: str | None = None,
        before_send: Callable[[], None] | None = None,
        observe: Callable[[CallRecord], None] | None = None,
        expected: Collection[int] = (),
        has_turn: bool = False,
        begun: Exchange | None = None,
    ) -> Answer:
        """Make one call.

        Args:
            method: GET, POST, PUT or DELETE.
            path: path below base_url.
            body: sent as JSON with POST and PUT.
            params: query parameters.
            login: tracker login of the person on whose behalf it is made; None: the administrator.
            before_send: called right before the request leaves, the connection made; what it raises stops the call.
            observe: is given the call once it has ended; what it raises is raised in place of the call's own error.
            expected: refusals that are as normal as success, by status: no warnings, nor told as errors.
            has_turn: whether the rate limit was waited for already (`take_turn`).
            begun: the same request, if it has left already (`begin`).

        Returns:
            The answer, with any status 2xx.

        Raises:
            TrackerError: of the class that says whether it was sent and may be repeated.
        """
        if login is not None and not is_header(login):
            raise ImpersonationRefused(
                method, path, detail=Detail.LOGIN_NO_HEADER()
            )  # this person's fault, no outage
        if begun is None and not has_turn:
            self.take_turn()
        try:
            return self._call(method, path, body, params, login, before_send, observe, expected, begun)
        except TrackerClosed as closed:
            if closed.status != 403:
                raise
            raise self._told_apart(closed, observe) from None
        except TrackerError as failure:
            if not failure.foreign:
                raise
            self._ask_whether_there(failure, observe)
            detail = refused_on_the_way(failure.status) if body is not None else Detail.NOT_THE_TRACKERS()
            raise OutcomeUnknown(method, path, status=failure.status, detail=detail) from None

    def _call(
        self,
        method: str,
        path: str,
        body: Any,
        params: Mapping[str, str | int] | None,
        login: str | None,
        before_send: Callable[[], None] | None,
        observe: Callable[[CallRecord], None] | None,
        expected: Collection[int] = (),
        begun: Exchange | None = None,
    ) -> Answer:
        exchange = begun or self._request(method, path, body, params, login, before_send)
        status: int | None = None
        error: Notice | None = None
        try:
            status, headers, content = self._exchange(exchange, method, path)
            _tell_refusal(method, path, status, expected)
            return read_answer(
                method,
                path,
                status=status,
                headers=headers,
                body=content,
                impersonating=login is not None,
                base_url=self.target.base_url,
            )
        except (LockBusy, Outdated):  # `before_send` has stopped it: there was no call
            observe = None
            raise
        except BridgeError as failure:
            error = _told(failure) if status not in expected else None
            raise
        finally:
            if observe:
                elapsed = round(exchange.seconds * 1000)
                observe(CallRecord(method, path, login, body, status, elapsed, error))

    def _told_apart(
        self, closed: TrackerClosed, observe: Callable[[CallRecord], None] | None
    ) -> TrackerError:
        """Return a refusal of the list of users with its cause: no administrator's key, or no REST API at all."""
        if closed.foreign:
            return TrackerAway(closed.method, closed.path, status=closed.status, detail=why_foreign(closed))
        try:
            self.take_turn()
            answer = self._call("GET", MYSELF, None, None, None, None, observe)
        except TrackerRejected as refused:
            detail = Detail.REST_SWITCHED_OFF() if refused.status == 403 else None
        except TrackerClosed as unknown:
            return unknown
        except TrackerError:
            detail = None
        else:
            detail = Detail.KEY_NOT_ADMINISTRATORS(login=answer.login or "?")
        return TrackerClosed(closed.method, closed.path, status=closed.status, detail=detail)

    def _ask_whether_there(self, failure: TrackerError, observe: Callable[[CallRecord], None] | None) -> None:
        """Ask once for something that only the tracker's API answers as it should: the list of users.

        Raises:
            TrackerAway: it is not there.
        """
        why = why_foreign(failure)
        if failure.path != USERS:
            try:
                self.take_turn()
                answer = self._call("GET", USERS, None, {"limit": 1}, None, None, observe)
            except TrackerError as other:
                why = why_foreign(other) if other.foreign else other.notice
            else:
                if isinstance(answer.data, dict) and isinstance(answer.data.get("users"), list):
                    return
                why = Detail.NO_LIST(name="users")
        raise TrackerAway(failure.method, failure.path, status=failure.status, detail=why) from None

    def raw(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        before_send: Callable[[], None] | None = None,
    ) -> RawAnswer:
        """Make one call as the administrator and return its answer unchanged (SPEC 4.3 "raw request facility").

        Args:
            method: GET, POST, PUT or DELETE.
            path: path below base_url.
            body: sent as JSON with POST and PUT.
            before_send: as for `call`.

        Returns:
            The answer, whatever its status.

        Raises:
            TrackerUnreachable: nothing was sent.
            OutcomeUnknown: sent, and no whole answer came.
        """
        self.take_turn()
        answer = self._exchange(self._request(method, path, body, None, None, before_send), method, path)
        _tell_refusal(method, path, answer[0])
        return raw_answer(*answer)

    @property
    def is_limited(self) -> bool:
        """Whether there is a rate limit to wait for."""
        return self._rate_limiter is not None

    def take_turn(self) -> None:
        """Wait for the rate limit, for a call that comes later: a claim's lease does not wait for it."""
        if self._rate_limiter:
            self._rate_limiter()
            alive()

    def close(self) -> None:
        """Close the connections that are kept and not in use."""
        while self._kept:
            with suppress(IndexError):  # another thread has just taken it
                self._kept.pop().close()

    def begin(
        self,
        method: str,
        path: str,
        body: Any,
        login: str | None,
        before_send: Callable[[], None] | None,
        *,
        params: Mapping[str, str | int] | None = None,
    ) -> Exchange | None:
        """Send a request without waiting for anything; `call` is then given what has begun.

        The arguments are those of `call`; the rate limit is not waited for.

        Returns:
            None: nothing was done; no connection is there, or the request is none that can be sent.
        """
        if login is not None and not is_header(login):
            return None
        exchange = self._request(method, path, body, params, login, before_send)
        if not exchange.connection.is_there:
            self._kept.append(exchange.connection)
            return None
        exchange.begin()
        return exchange

    def _request(
        self,
        method: str,
        path: str,
        body: Any,
        params: Mapping[str, str | int] | None,
        login: str | None,
        before_send: Callable[[], None] | None,
    ) -> Exchange:
        url = f"{self._base_path}{path}?{urlencode(params)}" if params else self._base_path + path
        content = None if body is None else json_bytes(body)
        watch = Watch(self._timeout, before_send, allow_link_local=self.target.allow_link_local)
        connection = self._take_connection(writing=method != "GET")
        return Exchange(connection, watch, (method, url, content, self._headers(login, content)))

    def _exchange(self, exchange: Exchange, method: str, path: str) -> tuple[int, Mapping[str, str], bytes]:
        watch, status, is_stopped = exchange.watch, "", True
        try:
            answer = exchange.answer()
            status, is_stopped = str(answer[0]), False
        except (OSError, ValueError, zlib.error) as error:
            is_stopped = False
            # the library's exception may hold the key, so it is not chained
            raise self._failure(watch, method, path, error) from None
        else:
            return answer
        finally:
            self._kept.append(exchange.connection)
            unanswered = "lost" if watch.sent else "unsent"
            seconds = exchange.seconds
            operation = metrics.called(method, path, status or unanswered, seconds)
            answered = operation if status.startswith("2") else f"{operation} refused"
            if not is_stopped:
                self._meter.add(answered if status else LOST, seconds, failed=status in ("", *OVERLOADED))
            tracing.called(operation, status or unanswered, seconds)
            alive()

    def _failure(self, watch: Watch, method: str, path: str, error: Exception) -> TrackerError:
        """Return the error of a call that got no answer; the library's class says less than what was sent."""
        name = type(error).__name__
        if watch.forbidden:
            return TrackerUnreachable(method, path, detail=Detail.ADDRESS_FORBIDDEN(address=watch.forbidden))
        if not watch.sent:
            why = why_unreachable(error, self.target.base_url, self.target.outbound)
            return TrackerUnreachable(method, path, detail=why or Detail.NO_CONNECTION(error=name))
        return OutcomeUnknown(
            method, path, detail=Detail.TIME_OUT() if watch.is_over else Detail.CONNECTION_LOST(error=name)
        )

    def _take_connection(self, *, writing: bool) -> Connection:
        """Return the connection that was used last and is not in use; a write trusts none that was idle long."""
        try:
            connection = self._kept.pop()
        except IndexError:
            return Connection(self._address, self._tls, self._proxy)
        if writing and connection.idle > IDLE_S:
            connection.close()
        return connection

    def _headers(self, login: str | None, content: bytes | None) -> dict[str, str | bytes]:
        headers: dict[str, str | bytes] = {
            "Accept": "*/*",
            "Accept-Encoding": "gzip",
            "User-Agent": "deskbridge",
            f"X-{self.target.header_prefix}-API-Key": self.target.api_key.get_secret_value(),
        }
        if content is not None:
            headers["Content-Type"] = "application/json"
        if login is not None:
            headers[f"X-{self.target.header_prefix}-Switch-User"] = login.encode()
        return headers


def _told(failure: BridgeError) -> Notice:
    """Return what a call's record says of its failure: a refusal that is none of the tracker's is called none."""
    if not isinstance(failure, TrackerError) or not failure.foreign or isinstance(failure, OutcomeUnknown):
        return failure.notice
    about = {"method": failure.method, "path": failure.path, "status": failure.status}
    return Fault.TRACKER_AWAY(**about, detail=why_foreign(failure))


def _tell_refusal(method: str, path: str, status: int, expected: Collection[int] = ()) -> None:
    if status >= HTTPStatus.BAD_REQUEST:  # SPEC 7; never its text, which may quote the key
        told = {"method": method, "path": path, "status": status}
        if status in expected:
            log.info("the tracker refused a call, as expected", **told)
        else:
            log.warning("the tracker refused a call", **told)


def is_header(login: str) -> bool:
    """Tell whether a login can be sent as a header: one line, without blanks around it, of no great length."""
    return 0 < len(login) <= LONGEST_LOGIN and login == login.strip(" ") and not NOT_IN_A_HEADER.search(login)
