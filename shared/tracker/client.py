"""The HTTP client of the tracker: five seconds per call, no retries, and errors that state whether anything was sent.

The coroutine `send` sends a request. Threads use `call` and `raw`, which send it on a separate event loop.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from http import HTTPStatus
from typing import Any, Literal, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from aiohttp import ClientHttpProxyError
from pydantic import SecretStr
from yarl import URL

from shared.errors import (
    AnswerTooLong,
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
from shared.notices.faults import Detail, Fault
from shared.notices.notice import Notice
from shared.process.alive import alive, wait_alive
from shared.process.outbound import DIRECT, Outbound, ProxyRefused, authorization, why_unreachable
from shared.telemetry import metrics, tracing
from shared.telemetry.logs import get_logger
from shared.tracker.answers import (
    Answer,
    RawAnswer,
    raw_answer,
    read_answer,
    refused_on_the_way,
    why_foreign,
)
from shared.tracker.body import AnswerTooLarge, whole_body
from shared.tracker.meter import LOST, Meter
from shared.tracker.portal import PORTAL
from shared.tracker.sessions import GUARD, ForbiddenAddress, SendGuard, session_for
from shared.tracker.uploads import UPLOAD_S, Upload
from shared.values.characters import NOT_IN_A_HEADER
from shared.values.utf8 import json_bytes

log = get_logger("tracker")
T = TypeVar("T")
RateLimiter = Callable[[], float]

TIMEOUT_S = 5.0
LONGEST_S = 600.0
"""How long a thread waits for its call, which may include further calls that each wait for the rate limiter."""
ONE_WORD = re.compile(r"[!-~]+")
PROXY_PORT = 3128
IN_A_PATH = "/%!$&'()*+,;=:@~"
LONGEST_LOGIN = 255
USERS = "/users.json"
"""Only the tracker answers it correctly, and only to an administrator's key."""
MYSELF = "/users/current.json"
"""The tracker answers it to every key, as long as the REST API is on."""
OVERLOADED = ("429", "502", "503", "504")
"""Status codes of an overloaded tracker, or of an overloaded proxy in front of it."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """An outbound call as the ticket history stores it; never contains the key."""

    method: str
    path: str
    login: str | None
    body: Any
    status: int | None
    milliseconds: int
    error: Notice | None

    @property
    def is_unclear(self) -> bool:
        """Whether it was sent and its outcome is unknown; a 4xx always counts as clear."""
        is_unknown = self.error is not None and self.error.code == Fault.OUTCOME_UNKNOWN
        return is_unknown and (self.status is None or not 400 <= self.status < 500)

    @property
    def is_clear(self) -> bool:
        """Whether an answer states the outcome of the call."""
        return self.status is not None and not self.is_unclear


@dataclass(frozen=True)
class Request:
    """A request to the tracker.

    Attributes:
        method: GET, POST, PUT or DELETE.
        path: path below base_url.
        body: sent as JSON with POST and PUT.
        params: query parameters.
        login: tracker login of the person on whose behalf it is made; None: the API user.
        before_send: called once connected, right before the request is sent; its exception stops the call.
        observe: receives the call once it has ended; its exception replaces the call's own error.
        expected: status codes of expected refusals, which are neither logged as warnings nor recorded as errors.
        has_waited: whether the caller has already waited for the rate limiter (`TrackerClient.wait_for_rate_limit`).
        upload: a file as the body, instead of JSON; such a call may take `UPLOAD_S`.
        largest: the limit of the answer in bytes; a longer one is `AnswerTooLong`. None: the usual limit.
    """

    method: str
    path: str
    body: Any = None
    params: Mapping[str, str | int] | None = None
    login: str | None = None
    before_send: Callable[[], None] | None = None
    observe: Callable[[CallRecord], None] | None = None
    expected: Collection[int] = ()
    has_waited: bool = False
    upload: Upload | None = None
    largest: int | None = None

    @property
    def has_body(self) -> bool:
        """Whether the request has a body."""
        return self.body is not None or self.upload is not None


@dataclass(frozen=True, slots=True)
class Target:
    """The tracker's URL, and how to connect to it.

    Attributes:
        base_url: its URL without a trailing slash.
        api_key: an administrator's key.
        header_prefix: header dialect: X-<prefix>-API-Key, X-<prefix>-Switch-User.
        verify_tls: whether its certificate is checked.
        allow_link_local: whether it may have a link-local or cloud-metadata address.
        outbound: the trusted certificate authorities and the proxy.
    """

    base_url: str
    api_key: SecretStr
    header_prefix: Literal["Tracker", "Redmine"] = "Redmine"
    verify_tls: bool = True
    allow_link_local: bool = False
    outbound: Outbound = DIRECT


class TrackerClient:
    """Calls one tracker; safe to share between threads and event loops.

    Args:
        target: the tracker.
        rate_limiter: reserves a slot for a call, and returns the seconds until then; None: there is no limit.
        timeout: seconds for a whole call (SPEC section 8: 5).
        meter: receives the duration of each call.
    """

    def __init__(
        self,
        target: Target,
        *,
        rate_limiter: RateLimiter | None = None,
        timeout: float = TIMEOUT_S,
        meter: Meter | None = None,
    ) -> None:
        self.target = target
        self._rate_limiter = rate_limiter
        self._timeout = timeout
        self._meter = meter or Meter()
        address = urlsplit(target.base_url)
        self._base_path = quote(address.path, safe=IN_A_PATH)
        self._server = f"{address.scheme}://{address.netloc}"
        self._is_https = address.scheme == "https"
        self._proxy, self._for_proxy = _proxy(target.outbound, address.hostname or "")

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
        has_waited: bool = False,
    ) -> Answer:
        """Make one call from a thread; the arguments are those of `Request`.

        Raises:
            RuntimeError: if this thread runs an event loop.
            TrackerError: as `send`.
        """
        return self.send_from_thread(
            Request(method, path, body, params, login, before_send, observe, expected, has_waited)
        )

    def raw(
        self, method: str, path: str, *, body: Any = None, before_send: Callable[[], None] | None = None
    ) -> RawAnswer:
        """Make one call as the API user, and return its answer unchanged (SPEC 4.3 "raw request facility").

        Args:
            method: GET, POST, PUT or DELETE.
            path: path below base_url.
            body: sent as JSON with POST and PUT.
            before_send: as for `call`.

        Returns:
            The answer, whatever its status.

        Raises:
            RuntimeError: if this thread runs an event loop.
            TrackerUnreachable: if nothing was sent.
            OutcomeUnknown: if it was sent, but no complete answer came.
        """
        self.wait_for_rate_limit()
        request = Request(method, path, body, before_send=before_send)
        answer = self._from_thread(request, self._exchange)
        _tell_refusal(request, answer[0])
        return raw_answer(*answer)

    def send_from_thread(self, request: Request) -> Answer:
        """Send a request from a thread; its `before_send` and `observe` are called in another thread.

        Raises:
            RuntimeError: if this thread runs an event loop.
            TrackerError: as `send`.
        """
        if not request.has_waited:
            self.wait_for_rate_limit()
        return self._from_thread(replace(request, has_waited=True), self.send)

    async def send(self, request: Request) -> Answer:
        """Send a request, and return its answer, whose status is 2xx.

        Raises:
            TrackerError: if the call fails; the class states whether it was sent and may be repeated.
        """
        method, path = request.method, request.path
        if request.login is not None and not is_header(request.login):
            raise ImpersonationRefused(
                method, path, detail=Detail.LOGIN_NO_HEADER()
            )  # a fault of this person's login, not an outage
        if not request.has_waited:
            await self._wait_for_turn()
        try:
            return await self._call(request)
        except TrackerClosed as closed:
            if closed.status != 403:
                raise
            raise await self._explain_forbidden(closed, request.observe) from None
        except TrackerError as failure:
            if not failure.foreign:
                raise
            await self._ask_whether_there(failure, request.observe)
            is_read = not request.has_body
            detail = Detail.NOT_THE_TRACKERS() if is_read else refused_on_the_way(failure.status)
            raise OutcomeUnknown(method, path, status=failure.status, detail=detail) from None

    @property
    def is_limited(self) -> bool:
        """Whether there is a rate limit."""
        return self._rate_limiter is not None

    def wait_for_rate_limit(self) -> None:
        """Wait for the rate limiter ahead of a call, so that the wait does not use up a claim's lease."""
        if self._rate_limiter:
            wait_alive(self._rate_limiter())
            alive()

    async def _wait_for_turn(self) -> None:
        """Wait for the rate limiter without blocking the loop."""
        if self._rate_limiter:
            await asyncio.sleep(await asyncio.to_thread(self._rate_limiter))

    def _from_thread(self, request: Request, send: Callable[[Request], Coroutine[Any, Any, T]]) -> T:
        try:
            return PORTAL.run(lambda: send(request), LONGEST_S)
        except TimeoutError:
            raise OutcomeUnknown(request.method, request.path, detail=Detail.TIME_OUT()) from None
        finally:
            alive()

    async def _call(self, request: Request) -> Answer:
        began, observe = time.monotonic(), request.observe
        status: int | None = None
        error: Notice | None = None
        try:
            status, headers, content = await self._exchange(request)
            _tell_refusal(request, status)
            return read_answer(
                request.method,
                request.path,
                status=status,
                headers=headers,
                body=content,
                impersonating=request.login is not None,
                base_url=self.target.base_url,
            )
        except (LockBusy, Outdated):  # `before_send` stopped it: no call was made
            observe = None
            raise
        except BridgeError as failure:
            error = _told(failure) if status not in request.expected else None
            raise
        finally:
            if observe:
                elapsed = round((time.monotonic() - began) * 1000)
                observe(
                    CallRecord(
                        request.method, request.path, request.login, request.body, status, elapsed, error
                    )
                )

    async def _explain_forbidden(
        self, closed: TrackerClosed, observe: Callable[[CallRecord], None] | None
    ) -> TrackerError:
        """Return the error for a 403 of /users.json with its cause: not an administrator's key, or no REST API."""
        if closed.foreign:
            return TrackerAway(closed.method, closed.path, status=closed.status, detail=why_foreign(closed))
        try:
            await self._wait_for_turn()
            answer = await self._call(Request("GET", MYSELF, observe=observe))
        except TrackerRejected as refused:
            detail = Detail.REST_SWITCHED_OFF() if refused.status == 403 else None
        except TrackerClosed as unknown:
            return unknown
        except TrackerError:
            detail = None
        else:
            detail = Detail.KEY_NOT_ADMINISTRATORS(login=answer.login or "?")
        return TrackerClosed(closed.method, closed.path, status=closed.status, detail=detail)

    async def _ask_whether_there(
        self, failure: TrackerError, observe: Callable[[CallRecord], None] | None
    ) -> None:
        """Check that the tracker's API is there, by one call that only the API answers correctly: the list of users.

        Raises:
            TrackerAway: if it is not there.
        """
        why = why_foreign(failure)
        if failure.path != USERS:
            try:
                await self._wait_for_turn()
                answer = await self._call(Request("GET", USERS, params={"limit": 1}, observe=observe))
            except TrackerError as other:
                why = why_foreign(other) if other.foreign else other.notice
            else:
                if isinstance(answer.data, dict) and isinstance(answer.data.get("users"), list):
                    return
                why = Detail.NO_LIST(name="users")
        raise TrackerAway(failure.method, failure.path, status=failure.status, detail=why) from None

    async def _exchange(self, request: Request) -> tuple[int, Mapping[str, str], bytes]:
        """Send one request, and return status, headers and body of its answer."""
        method, path = request.method, request.path
        content = request.upload or (None if request.body is None else json_bytes(request.body))
        timeout = max(UPLOAD_S, self._timeout) if request.upload else self._timeout
        guard = SendGuard(request.before_send, timeout, has_body=content is not None)
        began, status = time.monotonic(), ""
        try:
            query = f"?{urlencode(request.params)}" if request.params else ""
            url, headers = f"{self._base_path}{path}{query}", self._headers(request.login, content)
            async with asyncio.timeout(timeout):
                answer = await self._answer(guard, request, url, content, headers)
            status = str(answer[0])
        except Exception as failure:  # noqa: BLE001 (what was sent says what it means, and no class does)
            error = failure
        else:
            return answer
        finally:
            if not status:
                guard.abort()
            unanswered = "lost" if guard.sent else "unsent"
            seconds = time.monotonic() - began
            operation = metrics.called(method, path, status or unanswered, seconds)
            answered = operation if status.startswith("2") else f"{operation} refused"
            if guard.refusal is None and seconds < 2 * timeout:  # else the machine slept
                self._meter.add(answered if status else LOST, seconds, failed=status in ("", *OVERLOADED))
            tracing.called(operation, status or unanswered, seconds)
        if guard.refusal is not None:
            raise guard.refusal
        if request.largest is not None and isinstance(error, AnswerTooLarge):
            raise AnswerTooLong(method, path)
        # the library's exception may hold the key, so it is not chained
        raise await self._failure(guard, method, path, error)

    async def _answer(
        self,
        guard: SendGuard,
        request: Request,
        url: str,
        content: bytes | Upload | None,
        headers: Mapping[str, str],
    ) -> tuple[int, Mapping[str, str], bytes]:
        if not all(map(ONE_WORD.fullmatch, (request.method, url, self.target.api_key.get_secret_value()))):
            raise ValueError("a method, an address or a key that no request can have")
        target, using = self.target, GUARD.set(guard)
        try:
            session = session_for(
                target.outbound, verify_tls=target.verify_tls, allow_link_local=target.allow_link_local
            )
            async with session.request(
                request.method,
                URL(self._origin + url, encoded=True),
                data=content.pieces() if isinstance(content, Upload) else content,
                headers=headers,
                allow_redirects=False,
                proxy=self._proxy,
                proxy_headers=self._for_proxy if self._is_https and self._proxy else None,
            ) as response:
                return response.status, response.headers, await whole_body(response, request.largest)
        except ClientHttpProxyError as refused:
            raise ProxyRefused(
                f"{(self._proxy or '').removeprefix('http://')}", str(refused.status)
            ) from None
        finally:
            GUARD.reset(using)

    @cached_property
    def _origin(self) -> str:
        """The server as requests name it; computed late, so that an invalid name fails the call, not the client."""
        return str(URL(self._server))

    async def _failure(self, guard: SendGuard, method: str, path: str, error: Exception) -> TrackerError:
        """Return the error of a call without an answer; it depends on what was sent, not on aiohttp's exception."""
        while isinstance(error.__cause__, Exception):  # aiohttp wraps the system's error
            error = error.__cause__
        if isinstance(error, ForbiddenAddress):
            return TrackerUnreachable(method, path, detail=Detail.ADDRESS_FORBIDDEN(address=error.reason))
        name = type(error).__name__
        if not guard.sent:
            # in a thread, because it may look at the server's certificate
            why = await asyncio.to_thread(why_unreachable, error, self.target.base_url, self.target.outbound)
            return TrackerUnreachable(method, path, detail=why or Detail.NO_CONNECTION(error=name))
        return OutcomeUnknown(
            method, path, detail=Detail.TIME_OUT() if guard.is_over else Detail.CONNECTION_LOST(error=name)
        )

    def _headers(self, login: str | None, content: bytes | Upload | None) -> dict[str, str]:
        headers = {
            "Accept": "*/*",
            "Accept-Encoding": "gzip",
            "User-Agent": "deskbridge",
            f"X-{self.target.header_prefix}-API-Key": self.target.api_key.get_secret_value(),
        }
        if not self._is_https:  # without TLS the proxy reads the headers of each request
            headers |= self._for_proxy
        if isinstance(content, Upload):
            headers |= {"Content-Type": "application/octet-stream", "Content-Length": str(content.size)}
        elif content is not None:
            headers["Content-Type"] = "application/json"
        if login is not None:
            headers[f"X-{self.target.header_prefix}-Switch-User"] = login
        return headers


def _proxy(outbound: Outbound, host: str) -> tuple[str | None, dict[str, str]]:
    """Return the URL of the proxy for a host, and the headers that authenticate us to the proxy."""
    proxy = outbound.proxy_for(host)
    if proxy is None:
        return None, {}
    named = proxy.netloc.rpartition("@")[2]
    said = authorization(proxy)
    address = f"http://{named}" if proxy.port else f"http://{named}:{PROXY_PORT}"
    return address, {"Proxy-Authorization": said} if said else {}


def _told(failure: BridgeError) -> Notice:
    """Return the error for a call's record; a refusal that is not the tracker's own is recorded as `TRACKER_AWAY`."""
    if not isinstance(failure, TrackerError) or not failure.foreign or isinstance(failure, OutcomeUnknown):
        return failure.notice
    about = {"method": failure.method, "path": failure.path, "status": failure.status}
    return Fault.TRACKER_AWAY(**about, detail=why_foreign(failure))


def _tell_refusal(request: Request, status: int) -> None:
    if status >= HTTPStatus.BAD_REQUEST:  # SPEC 7; never its text, which may quote the key
        told = {"method": request.method, "path": request.path, "status": status}
        if status in request.expected:
            log.info("the tracker refused a call, as expected", **told)
        else:
            log.warning("the tracker refused a call", **told)


def is_header(login: str) -> bool:
    """Return whether a login can be sent as a header: one line, without outer blanks, not too long."""
    return 0 < len(login) <= LONGEST_LOGIN and login == login.strip(" ") and not NOT_IN_A_HEADER.search(login)
