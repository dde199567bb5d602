"""Visitors of the pages: cookies, forms, and the protection against forms of other sites."""

from __future__ import annotations

import hashlib
import hmac
from typing import Literal
from urllib.parse import parse_qs

from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from producer.http.problems import Problem
from shared.notices.access import AccessRefusal
from shared.notices.language import N_
from shared.values.ids import read_id
from shared.values.validation import parts_of

PATH = "/console"
COOKIE = "deskbridge_session"
DEVICE = "deskbridge_device"
SIGN_IN = f"{PATH}/sign-in"
YEAR_S = 365 * 86400
FORM_TOKEN = "form_token"  # noqa: S105 (the name of a field)
MOST_FIELDS = 3000


class SignInNeeded(Exception):
    """No one is signed in."""


class Fields:
    """The fields of a submitted form.

    Args:
        body: request body (application/x-www-form-urlencoded).
    """

    def __init__(self, body: bytes) -> None:
        try:
            text = body.decode("ascii")
            if "\x00" in text or "%00" in text:
                raise ValueError("no text of a database holds it")
            self._values = parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
        except ValueError:
            raise Problem(400, N_("Not a valid form"), why=AccessRefusal.FORM_UNREADABLE()) from None

    def text(self, name: str, otherwise: str = "") -> str:
        """Return a field without whitespace around it."""
        return self.raw(name, otherwise).strip()

    def raw(self, name: str, otherwise: str = "") -> str:
        """Return a field as it was typed, with line ends as LF."""
        return self._values.get(name, [otherwise])[-1].replace("\r\n", "\n")

    def all(self, name: str) -> list[str]:
        """Return every value that is not empty of a field that may have several."""
        return [one for one in self._values.get(name, []) if one]

    def number(self, name: str) -> int | None:
        """Return a field as an id or 0, or None if it is neither."""
        return read_id(self.text(name))

    def has(self, name: str) -> bool:
        """Return whether a box is ticked or a field was sent."""
        return name in self._values

    def under(self, prefix: str) -> dict[str, list[str]]:
        """Return the fields whose names begin with a prefix, by the rest of the name."""
        return {
            name.removeprefix(prefix): values
            for name, values in self._values.items()
            if name.startswith(prefix)
        }


def client_of(request: HTTPConnection) -> str:
    """Return the address that a request comes from."""
    return request.client.host if request.client else "unknown"


def session_of(request: Request) -> str | None:
    """Return the value of the session cookie."""
    return request.cookies.get(cookie_name(request))


def is_secure(request: HTTPConnection) -> bool:
    """Return whether browsers use TLS, as the request shows, or CONSOLE_URL behind a proxy."""
    configured: str | None = request.app.state.services.settings.console_url
    return request.url.scheme == "https" or (configured or "").startswith("https:")


def cookie_name(request: HTTPConnection, cookie: str = COOKIE) -> str:
    """Return a cookie's name; with TLS it has a prefix that only TLS responses can set."""
    return f"__Secure-{cookie}" if is_secure(request) else cookie


def keep_cookie(
    request: HTTPConnection,
    response: Response,
    name: str,
    value: str,
    *,
    path: str = PATH,
    seconds: int | None = None,
    samesite: Literal["strict", "lax"] = "strict",
) -> None:
    """Set a cookie that scripts cannot read and, if browsers use TLS, that is sent only over TLS.

    Args:
        request: the browser's request.
        response: the response to it.
        name: name of the cookie.
        value: value of the cookie.
        path: path under which it is sent.
        seconds: lifetime; None ends it when the browser is closed.
        samesite: `lax` also sends it if a user follows a link from another site.
    """
    secure = is_secure(request)
    response.set_cookie(name, value, seconds, path=path, httponly=True, samesite=samesite, secure=secure)


def keep_session(request: Request, response: Response, session: str, device: str | None = None) -> None:
    """Set the session cookie, and the device cookie if there is one.

    Args:
        request: the browser's request.
        response: the response to it.
        session: secret of the session.
        device: later proves that this browser has signed in to the account; only accounts with a password have one.
    """
    keep_cookie(request, response, cookie_name(request), session)
    if device:
        keep_cookie(request, response, cookie_name(request, DEVICE), device, path=SIGN_IN, seconds=YEAR_S)


def drop_session(request: Request, response: Response) -> None:
    """Delete the session cookie."""
    response.delete_cookie(cookie_name(request), path=PATH, httponly=True, secure=is_secure(request))


def form_token(session: str) -> str:
    """Return the CSRF token that every form of a session carries."""
    return hmac.new(session.encode("utf-8", "surrogateescape"), b"form", hashlib.sha256).hexdigest()


def check_own_page(request: Request) -> None:
    """Refuse a form that was not sent by one of our own pages.

    For cookies, another port of the same host is the same site, so SameSite is not enough.

    Raises:
        Problem: 403 if another page sent it, or it is unknown which.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        own = site == "same-origin"
    else:
        origin = request.headers.get("origin") or ""
        configured = request.app.state.services.settings.console_url
        parts = parts_of(origin)
        host = parts.netloc if parts else ""
        own = bool(host) and (origin == configured or host == request.headers.get("host"))
    if not own:
        raise Problem(403, N_("Sent from another page"), why=AccessRefusal.FORM_OF_ANOTHER_SITE())


async def require_session(request: Request) -> None:
    """Require a signed-in user, and for a change a form of their session.

    Raises:
        SignInNeeded: if no one is signed in.
        Problem: 403 if another page sent the form; 409 if it belongs to an earlier session.
    """
    if getattr(request.state, "account", None) is None:
        raise SignInNeeded
    if request.method in ("GET", "HEAD"):
        return
    check_own_page(request)
    fields = await fields_of(request)
    if not hmac.compare_digest(fields.text(FORM_TOKEN).encode(), request.state.form_token.encode()):
        raise Problem(
            409,
            N_("This form belongs to an earlier session"),
            why=AccessRefusal.FORM_OF_EARLIER_SESSION(),
        )


async def fields_of(request: Request) -> Fields:
    """Return the form fields of a request."""
    return Fields(await request.body())
