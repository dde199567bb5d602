"""Turns a request's headers and body into a call: the key's owner, the acting user, the parameters."""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

from deploy.sandbox.tracker import answers, routes, texts
from deploy.sandbox.tracker.answers import Answer, RefusedError
from deploy.sandbox.tracker.calls import Call
from deploy.sandbox.tracker.records import ANONYMOUS_ID, USER_ACTIVE, User
from deploy.sandbox.tracker.state import Tracker

KEY_HEADERS = ("x-redmine-api-key", "x-tracker-api-key")
SWITCH_HEADERS = ("x-redmine-switch-user", "x-tracker-switch-user")
DEEPEST_NESTING = 100


@dataclass(slots=True)
class Request:
    """A request as it came off the socket; header names are in lower case.

    Attributes:
        arrived: Monotonic time of arrival, in seconds.
    """

    method: str
    path: str
    query_text: str
    headers: Mapping[str, str]
    body: bytes = b""
    arrived: float = field(default_factory=time.monotonic)

    @property
    def query(self) -> dict[str, str]:
        """Query parameters; the last of several with the same name wins."""
        return dict(parse_qsl(self.query_text, keep_blank_values=True)) if self.query_text else {}

    @property
    def switch_user(self) -> str:
        """The login in the impersonation header, empty if there is none."""
        return _first(self.headers, SWITCH_HEADERS).encode("latin-1", "replace").decode("utf-8", "replace")


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((headers[name] for name in names if headers.get(name)), "")


def sent_key(request: Request) -> str:
    """Return the API key of a request: from a header, `?key=`, or the Basic user name."""
    key = _first(request.headers, KEY_HEADERS)
    if key:
        return key
    scheme, _, encoded = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(encoded, validate=True).decode("latin-1").partition(":")[0]
        except binascii.Error:
            return ""
    return request.query.get("key", "") if "key=" in request.query_text else ""


def key_owner(tracker: Tracker, request: Request) -> User | None:
    """Return the active user whose key was sent, or None (keys are case-sensitive)."""
    owner = tracker.by_key.get(sent_key(request))
    return owner if owner is not None and owner.status == USER_ACTIVE else None


def acting_user(tracker: Tracker, request: Request) -> User:
    """Return the acting user: only an administrator's key can switch; 412 for an unknown or locked login."""
    owner = key_owner(tracker, request) if tracker.settings.rest_enabled else None
    if owner is None:
        return tracker.users[ANONYMOUS_ID]
    login = request.switch_user
    if not owner.admin or not login:
        return owner
    wanted = tracker.by_login.get(login.lower())
    if wanted is None or wanted.status != USER_ACTIVE:
        raise RefusedError(answers.empty(412))
    return wanted


def media_type(request: Request) -> str:
    """Return the body's media type in lower case, empty if there is none."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def body_params(request: Request) -> dict[str, Any]:
    """Return the JSON object of a request, empty for another content type; 400 if it is not JSON."""
    kind = media_type(request)
    if not request.body:
        return {}
    if kind in ("application/xml", "text/xml"):
        raise RefusedError(answers.unreadable(request.headers.get("accept", "")))
    if kind != "application/json":
        return {}
    try:
        text = request.body.decode("utf-8")
        document = json.loads(text, parse_constant=_no_constant)
        if "\\ud" in text.lower():
            json.dumps(document, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError):
        raise RefusedError(answers.unreadable(request.headers.get("accept", ""))) from None
    if (
        request.body.count(b"[") + request.body.count(b"{") > DEEPEST_NESTING
        and _depth(document) > DEEPEST_NESTING
    ):
        raise RefusedError(answers.unreadable(request.headers.get("accept", "")))
    return document if isinstance(document, dict) else {}


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _depth(document: object) -> int:
    level, deepest = [document], 0
    while level:
        containers = [item for item in level if isinstance(item, dict | list)]
        deepest += bool(containers)
        level = [
            value for item in containers for value in (item.values() if isinstance(item, dict) else item)
        ]
    return deepest


def answer(tracker: Tracker, request: Request) -> Answer:
    """Decide a request and apply its effect, under the tracker's lock."""
    found = routes.find(request.method, request.path)
    if found is None:
        if (request.method, request.path) == ("POST", "/issues"):
            return answers.page(422, "Invalid form authenticity token")
        return answers.unknown_address(request.headers.get("accept", ""), bare=tracker.release.bare_404)
    decision, ids = found
    try:
        params = body_params(request)
        with tracker.lock:
            tracker.finish_deletions()
            user = acting_user(tracker, request)
            accepted = request.headers.get("accept-language", "")
            language = user.language or texts.preferred(accepted, tracker.settings.default_language)
            call = Call(
                tracker=tracker,
                user=user,
                language=language,
                host=request.headers.get("host", "127.0.0.1"),
                arrived=request.arrived,
                rest_off=not tracker.settings.rest_enabled,
                ids=tuple(unquote(part) for part in ids),
                query=request.query,
                params=params,
                media_type=media_type(request),
                content=request.body,
            )
            return decision(call)
    except RefusedError as refused:
        return refused.answer
