"""Turns an answer of the tracker into data or into one of our errors (SPEC section 7)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any
from urllib.parse import urljoin, urlsplit

from shared.errors import (
    ImpersonationRefused,
    OutcomeUnknown,
    TrackerBusy,
    TrackerClosed,
    TrackerError,
    TrackerRejected,
)
from shared.notices.faults import Detail
from shared.notices.notice import Notice
from shared.values.characters import NOT_FOR_A_TERMINAL

REFUSES_A_PERSON = (403, 404, 412, 422)
LONGEST_MESSAGE = 500
MOST_MESSAGES = 20
LONGEST_WAIT_S = 3600.0
NOT_FOUND = 404
AN_ADDRESS = re.compile(r"https?://[A-Za-z0-9.:\[\]-]{1,255}(/[A-Za-z0-9._~/-]{0,500})?")
"""A URL that needs no quotes in a shell."""
QUOTA_EXCEEDED = "https://iana.org/assignments/http-problem-types#quota-exceeded"
"""The problem type (RFC 9457) of a rate limiter that stopped a request (draft-ietf-httpapi-ratelimit-headers)."""
Headers = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the tracker.

    Attributes:
        status: HTTP status.
        data: the decoded JSON, or None for an empty body.
        at: the tracker's own clock (Date header), or None if it sent none.
    """

    status: int
    data: Any
    at: datetime | None

    def object(self, name: str) -> dict[str, Any]:
        """Return the named object of the answer.

        Raises:
            KeyError: if the answer has none.
        """
        found = self.data[name] if isinstance(self.data, dict) else None
        if not isinstance(found, dict):
            raise KeyError(name)
        return found

    @property
    def login(self) -> str | None:
        """The login of the key's owner in an answer to `MYSELF`, or None."""
        user = self.data.get("user") if isinstance(self.data, dict) else None
        login = user.get("login") if isinstance(user, dict) else None
        return clean(str(login)) if login else None


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """An answer as it was received, even an error (SPEC 4.3: the error is the information being sought).

    Attributes:
        status: HTTP status.
        body: the whole body, undecodable bytes replaced.
        at: the tracker's own clock (Date header), or None if it sent none.
        is_trackers: False if it cannot come from the tracker's API, or is a 429 of uncertain origin.
    """

    status: int
    body: str
    at: datetime | None
    is_trackers: bool = True


def raw_answer(status: int, headers: Headers, body: bytes) -> RawAnswer:
    """Return an answer without interpreting it.

    Args:
        status: HTTP status.
        headers: the answer's headers, each name written like `Content-Type`.
        body: the whole body.
    """
    own = not is_foreign(status, headers, body) and (status != 429 or is_limiters(status, body))
    return RawAnswer(status, body.decode("utf-8", "replace"), _date(headers.get("Date")), own)


def read_answer(
    method: str,
    path: str,
    *,
    status: int,
    headers: Headers,
    body: bytes,
    impersonating: bool,
    base_url: str = "",
) -> Answer:
    """Return the tracker's answer, or raise the error that it stands for.

    Args:
        method: HTTP method of the call.
        path: path below base_url.
        status: HTTP status.
        headers: the answer's headers, each name written like `Content-Type`.
        body: the whole body.
        impersonating: whether the call was made on behalf of a person.
        base_url: the base URL of the call.

    Raises:
        TrackerError: if the answer is an error; shared/errors.py names the class.
    """
    try:
        if 200 <= status < 300:
            return Answer(status, _decoded(method, path, status, body), _date(headers.get("Date")))
        raise _error(method, path, status, headers, body, impersonating, base_url)
    except TrackerError as error:
        error.foreign = is_foreign(status, headers, body)
        raise


def _error(
    method: str, path: str, status: int, headers: Headers, body: bytes, impersonating: bool, base_url: str
) -> TrackerError:
    retry_after = _seconds(headers.get("Retry-After"), _date(headers.get("Date")))
    if status == 429 or (status == 503 and retry_after is not None):
        limited = is_limiters(status, body)
        return TrackerBusy(method, path, status=status, retry_after=retry_after, limited=limited)
    if status == 401 or (status == 403 and path == "/users.json"):
        known = Detail.KEY_IS_UNKNOWN() if status == 401 else None  # a 403 needs another call to explain it
        return TrackerClosed(method, path, status=status, detail=known)
    if status >= 500 or status < 300:
        return OutcomeUnknown(method, path, status=status)
    errors = messages(body)
    if status == 422 and method == "PUT" and not errors and body.strip():
        return OutcomeUnknown(method, path, status=status, detail=Detail.EDIT_CONFLICT())
    if impersonating and status in REFUSES_A_PERSON:
        return ImpersonationRefused(method, path, status=status, errors=errors)
    detail = redirected(base_url, path, headers.get("Location")) if status < 400 else None
    return TrackerRejected(method, path, status=status, errors=errors, detail=detail)


def is_foreign(status: int, headers: Headers, body: bytes) -> bool:
    """Return whether an answer cannot come from the tracker's API, such as a maintenance page.

    The API's refusals have an empty body, `{"errors": […]}` or `{"status": …}`. Its empty 404 has a JSON content type,
    and it never answers 3xx or 405. A 5xx is not a clear answer, no matter who sent it.
    """
    if status >= 500 or status in (401, 429):
        return False
    if 300 <= status < 400 or status == 405:
        return True
    if not body.strip():
        return status == 404 and "json" not in headers.get("Content-Type", "")
    if status < 300:
        return not _is_json(body)
    found = _object(body)
    return not (isinstance(found.get("errors"), list) or "status" in found)


def redirected(base_url: str, path: str, location: str | None) -> Notice:
    """Return what a redirect means: the tracker has a new address, or calls are only redirected elsewhere.

    Args:
        base_url: the base URL of the call.
        path: its path below base_url.
        location: the answer's Location header.
    """
    try:
        wanted = urlsplit(urljoin(base_url + path, location or ""))
    except ValueError:
        return Detail.REDIRECT_NOT_FOLLOWED()
    there = f"{wanted.scheme}://{wanted.netloc}{wanted.path}"
    if location is None or not AN_ADDRESS.fullmatch(there):
        return Detail.REDIRECT_NOT_FOLLOWED()
    moved = there.removesuffix(path)
    is_secure = wanted.scheme == "https" or not base_url.startswith("https:")
    if there.endswith(path) and is_secure and moved != base_url:
        return Detail.ADDRESS_MOVED(base_url=moved)
    return Detail.REDIRECT_NOT_FOLLOWED(location=there)


def why_foreign(error: TrackerError) -> Notice:
    """Return a description of an answer that cannot come from the tracker's API."""
    detail = error.notice.params.get("detail")
    if isinstance(detail, Notice) and detail.code != Detail.NOT_JSON:
        return detail
    return Detail.NO_API_THERE() if error.status == NOT_FOUND else Detail.A_PAGE()


def refused_on_the_way(status: int | None) -> Notice:
    """Return what a foreign answer to a call with a body means if the tracker itself answers other calls.

    Only a redirect means that base_url is wrong.
    """
    if status is not None and 300 <= status < 400:
        return Detail.NOT_THE_TRACKERS()
    return Detail.TOO_LARGE_ON_THE_WAY() if status == 413 else Detail.REFUSED_ON_THE_WAY()


def is_limiters(status: int, body: bytes) -> bool:
    """Return whether an answer certainly comes from a rate limiter that kept the call from the tracker.

    Only a problem document of the type `QUOTA_EXCEEDED` proves that (decision 15).
    """
    return status == 429 and _object(body).get("type") == QUOTA_EXCEEDED


def messages(body: bytes) -> list[str]:
    """Return the tracker's own messages from `{"errors": [...]}`; they are localised, so only for people."""
    found = _object(body).get("errors")
    if not isinstance(found, list):
        return []
    return [clean(text)[:LONGEST_MESSAGE] for text in found if isinstance(text, str)][:MOST_MESSAGES]


def clean(text: str, mark: str = "") -> str:
    """Return a text from the tracker without characters that harm a database or a terminal.

    Args:
        text: the text.
        mark: replaces each of these characters.
    """
    return NOT_FOR_A_TERMINAL.sub(mark, text)


def _decoded(method: str, path: str, status: int, body: bytes) -> Any:
    if not body.strip():
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise OutcomeUnknown(method, path, status=status, detail=Detail.NOT_JSON()) from None


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a body, or an empty one if the body is something else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@lru_cache(8)
def _date(value: str | None) -> datetime | None:
    try:
        return parsedate_to_datetime(value).astimezone(UTC) if value else None
    except (ValueError, OverflowError, TypeError):
        return None


def _seconds(value: str | None, answered: datetime | None) -> float | None:
    """Return the seconds of Retry-After; a date is compared with the Date of the answer."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return min(float(text), LONGEST_WAIT_S)
    moment = _date(text)
    if moment is None:
        return None
    return min(max(0.0, (moment - (answered or datetime.now(UTC))).total_seconds()), LONGEST_WAIT_S)
