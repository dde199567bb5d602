"""Visitors of the pages: the session cookie, and what tells that a form was sent by one of our own pages."""

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
    """What a form was filled in with.

    Args:
        body: as browsers send it (application/x-www-form-urlencoded).
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
        """Return a field, its outer blanks left out."""
        return self.raw(name, otherwise).strip()

    def raw(self, name: str, otherwise: str = "") -> str:
        """Return a field as it was typed, line ends as in the rest of the world."""
        return self._values.get(name, [otherwise])[-1].replace("\r\n", "\n")

    def all(self, name: str) -> list[str]:
        """Return every value of a field that may have several."""
        return [one for one in self._values.get(name, []) if one]

    def number(self, name: str) -> int | None:
        """Return a field that is an id, or 0; None if it is empty or none."""
        return read_id(self.text(name))

    def has(self, name: str) -> bool:
        """Return whether a box is ticked, or a field sent at all."""
        return name in self._values

    def under(self, prefix: str) -> dict[str, list[str]]:
        """Return the fields whose name begins so, by the rest of their names."""
        return {
            name.removeprefix(prefix): values
            for name, values in self._values.items()
            if name.startswith(prefix)
        }


def client_of(request: HTTPConnection) -> str:
    """Return the address that a request comes from."""
    return request.client.host if request.client else "unknown"


def session_of(request: Request) -> str | None:
    """Return what the session cookie holds."""
    return request.cookies.get(cookie_name(request))


def is_secure(request: HTTPConnection) -> bool:
    """Return whether browsers reach the console over TLS: by the request, or by CONSOLE_URL behind a proxy."""
    configured: str | None = request.app.state.services.settings.console_url
    return request.url.scheme == "https" or (configured or "").startswith("https:")


def cookie_name(request: HTTPConnection, cookie: str = COOKIE) -> str:
    """Return a cookie's name: with TLS one that only TLS can set."""
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
    """Have the browser keep a cookie that no script reads, and that TLS alone carries if the browser uses it.

    Args:
        request: what the browser asked.
        response: the answer.
        name: its name.
        value: what it holds.
        path: where it is sent.
        seconds: how long it is kept; None: until the browser is closed.
        samesite: `lax`: also if a link of another site leads here.
    """
    secure = is_secure(request)
    response.set_cookie(name, value, seconds, path=path, httponly=True, samesite=samesite, secure=secure)


def keep_session(request: Request, response: Response, session: str, device: str | None = None) -> None:
    """Have the browser keep a session.

    Args:
        request: what the browser asked.
        response: the answer.
        session: what opens the session.
        device: what tells later that this browser has signed in to the account, if it has a password.
    """
    keep_cookie(request, response, cookie_name(request), session)
    if device:
        keep_cookie(request, response, cookie_name(request, DEVICE), device, path=SIGN_IN, seconds=YEAR_S)


def drop_session(request: Request, response: Response) -> None:
    """Have the browser forget its session."""
    response.delete_cookie(cookie_name(request), path=PATH, httponly=True, secure=is_secure(request))


def form_token(session: str) -> str:
    """Return what every form of a session carries."""
    return hmac.new(session.encode("utf-8", "surrogateescape"), b"form", hashlib.sha256).hexdigest()


def check_own_page(request: Request) -> None:
    """Refuse a form that none of our own pages has sent.

    Another port of the same host is the same site to a cookie, so SameSite is not enough.

    Raises:
        Problem: 403.
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


async def visiting(request: Request) -> None:
    """Let in who is signed in; a change only from a form of their own session.

    Raises:
        SignInNeeded: no one is.
        Problem: 403; 409 the form is of an earlier session.
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
    """Return what the form of a request was filled in with."""
    return Fields(await request.body())
