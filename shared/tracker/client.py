"""The tracker's HTTP side: one keep-alive session per thread, five seconds per call, no retries of its own."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Literal

import requests
import urllib3
from pydantic import SecretStr
from requests.structures import CaseInsensitiveDict

from shared.codes.coded import Coded
from shared.codes.faults import Detail
from shared.errors import (
    BridgeError,
    ImpersonationRefused,
    OutcomeUnknown,
    TrackerAway,
    TrackerError,
    TrackerUnreachable,
)
from shared.logs import get_logger
from shared.tracker.answers import Answer, RawAnswer, raw_answer, read_answer
from shared.tracker.watch import Watch, WatchedAdapter, watching

log = get_logger("tracker")

TIMEOUT_S = 5.0
IDLE_S = 1.0
LARGEST_ANSWER = 16 * 1024 * 1024
LOGIN = re.compile(r"(?! )[^\x00-\x1f\x7f\ud800-\udfff]{1,255}(?<! )")
USERS = "/users.json"
"""What anybody else's key, and anything else than the tracker, does not answer as it should."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """An outbound call as the trace keeps it; never with the key."""

    method: str
    path: str
    login: str | None
    body: Any
    status: int | None
    milliseconds: int
    error: Coded | None


@dataclass(frozen=True, slots=True)
class Target:
    """Where the tracker is and how it is spoken to.

    Attributes:
        base_url: its address without a trailing slash.
        api_key: an administrator's key.
        header_prefix: header dialect: X-<prefix>-API-Key, X-<prefix>-Switch-User.
        verify_tls: whether its certificate is checked.
        allow_link_local: whether it may be at a link-local or cloud-metadata address.
    """

    base_url: str
    api_key: SecretStr
    header_prefix: Literal["Tracker", "Redmine"] = "Redmine"
    verify_tls: bool = True
    allow_link_local: bool = False


class TrackerClient:
    """Calls one tracker; safe to share between threads.

    Args:
        target: the tracker.
        throttle: called before each call, waits where a rate limit asks for it.
        timeout: seconds for a whole call (SPEC section 8: 5).
    """

    def __init__(
        self, target: Target, *, throttle: Callable[[], None] | None = None, timeout: float = TIMEOUT_S
    ) -> None:
        self.target = target
        self._throttle = throttle
        self._timeout = timeout
        self._local = threading.local()

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
    ) -> Answer:
        """Make one call.

        Args:
            method: GET, POST, PUT or DELETE.
            path: path below base_url.
            body: sent as JSON with POST and PUT.
            params: query parameters.
            login: tracker login of the person on whose behalf it is made; None: the administrator.
            before_send: called right before the request leaves, the connection made; what it raises stops the call.
            observe: is told of the call once it has ended.

        Returns:
            The answer, with any status 2xx.

        Raises:
            TrackerError: of the class that says whether it was sent and may be repeated.
        """
        if login is not None and not is_header(login):
            raise ImpersonationRefused(
                method, path, detail=Detail.LOGIN_NO_HEADER()
            )  # this person's fault, no outage
        try:
            return self._call(method, path, body, params, login, before_send, observe)
        except TrackerError as failure:
            if not failure.foreign:
                raise
            self._ask_whether_there(failure, observe)
            raise OutcomeUnknown(
                method, path, status=failure.status, detail=Detail.NOT_THE_TRACKERS()
            ) from None

    def _call(
        self,
        method: str,
        path: str,
        body: Any,
        params: Mapping[str, str | int] | None,
        login: str | None,
        before_send: Callable[[], None] | None,
        observe: Callable[[CallRecord], None] | None,
    ) -> Answer:
        self._use_turn()
        started = time.monotonic()
        status: int | None = None
        error: Coded | None = None
        try:
            status, headers, content = self._exchange(method, path, body, params, login, before_send)
            return read_answer(
                method, path, status=status, headers=headers, body=content, impersonating=login is not None
            )
        except BridgeError as failure:
            error = failure.coded
            raise
        finally:
            elapsed = round((time.monotonic() - started) * 1000)
            if observe:
                observe(CallRecord(method, path, login, body, status, elapsed, error))

    def _ask_whether_there(self, failure: TrackerError, observe: Callable[[CallRecord], None] | None) -> None:
        """Ask once for something that only the tracker's API answers as it should: the list of users.

        Raises:
            TrackerAway: it is not there.
        """
        why = failure.coded
        if failure.path != USERS:
            try:
                answer = self._call("GET", USERS, None, {"limit": 1}, None, None, observe)
            except TrackerError as other:
                why = other.coded
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
        self._use_turn()
        return raw_answer(*self._exchange(method, path, body, None, None, before_send))

    def take_turn(self) -> None:
        """Wait for the rate limit now, so that this thread's next call need not: a claim's lease does not wait."""
        if self._throttle:
            self._throttle()
        self._local.has_turn = True

    def _use_turn(self) -> None:
        if not getattr(self._local, "has_turn", False):
            self.take_turn()
        self._local.has_turn = False

    def close(self) -> None:
        """Close this thread's session."""
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is not None:
            session.close()

    def _exchange(
        self,
        method: str,
        path: str,
        body: Any,
        params: Mapping[str, str | int] | None,
        login: str | None,
        before_send: Callable[[], None] | None,
    ) -> tuple[int, CaseInsensitiveDict[str], bytes]:
        with watching(self._timeout, before_send, allow_link_local=self.target.allow_link_local) as watch:
            try:
                session = self._session(writing=method != "GET")
                response = session.request(
                    method,
                    self.target.base_url + path,
                    data=None if body is None else json.dumps(body).encode(),
                    params=params,
                    headers=self._headers(login, has_body=body is not None),
                    timeout=self._timeout,
                    allow_redirects=False,
                    stream=True,
                )
                if (
                    response.status_code >= HTTPStatus.BAD_REQUEST
                ):  # SPEC 7; never its text, which may quote the key
                    log.warning(
                        "the tracker refused a call", method=method, path=path, status=response.status_code
                    )
                with response:
                    content = _read(response)
                # a socket shut by the watch reads like the end of headers, or of a body without a length
                if watch.expired:
                    raise OutcomeUnknown(method, path, detail=Detail.TIME_OUT())
                return response.status_code, response.headers, content
            except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
                # the library's exception holds the request with its key, so it is not chained
                raise _failure(watch, method, path, type(error).__name__) from None
            finally:
                self._local.used_at = time.monotonic()
                if watch.expired:
                    self.close()

    def _session(self, *, writing: bool) -> requests.Session:
        """Return this thread's session; a write does not trust a connection that was idle for a while."""
        session: requests.Session | None = getattr(self._local, "session", None)
        if session is None:
            session = self._local.session = _new_session(verify=self.target.verify_tls)
        elif writing and time.monotonic() - self._local.used_at > IDLE_S:
            session.close()
        return session

    def _headers(self, login: str | None, *, has_body: bool) -> dict[str, str | bytes]:
        prefix = self.target.header_prefix
        headers: dict[str, str | bytes] = {f"X-{prefix}-API-Key": self.target.api_key.get_secret_value()}
        if has_body:
            headers["Content-Type"] = "application/json"
        if login is not None:
            headers[f"X-{prefix}-Switch-User"] = login.encode()
        return headers


def is_header(login: str) -> bool:
    """Tell whether a login can be sent as a header: one line, without blanks around it, of no great length."""
    return LOGIN.fullmatch(login) is not None


def _failure(watch: Watch, method: str, path: str, name: str) -> TrackerError:
    """Return the error of a call that got no answer; the library's class says less than what was sent."""
    if watch.forbidden:
        return TrackerUnreachable(method, path, detail=Detail.ADDRESS_FORBIDDEN(address=watch.forbidden))
    if not watch.sent:
        return TrackerUnreachable(method, path, detail=Detail.NO_CONNECTION(error=name))
    return OutcomeUnknown(
        method, path, detail=Detail.TIME_OUT() if watch.expired else Detail.CONNECTION_LOST(error=name)
    )


def _new_session(*, verify: bool) -> requests.Session:
    session = requests.Session()
    session.trust_env = False  # no .netrc or proxy of the environment takes the key elsewhere
    session.verify = verify
    # what the tracker remembers of one person's call is not sent with the next one's
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    # the library reads a redirect's target and its whole body even where it does not follow it
    session.get_redirect_target = lambda resp: None  # type: ignore[method-assign]  # noqa: ARG005
    adapter = WatchedAdapter()
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    return session


def _read(response: requests.Response) -> bytes:
    content = bytearray()
    for chunk in response.iter_content(65536):
        content += chunk
        if len(content) > LARGEST_ANSWER:
            raise requests.exceptions.ContentDecodingError("the answer is too large")
    return bytes(content)
