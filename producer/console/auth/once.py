"""Texts that are shown once: passed from the form that created them to the page that shows them.

The browser carries such a text in a cookie for a minute, signed with its session. So reloading the page repeats no
action, and nothing is stored on the server.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import astuple, dataclass

from starlette.requests import Request
from starlette.responses import Response

from producer.console.auth import visitors

COOKIE = "deskbridge_once"
PATH = "/console/access/secret"
SECONDS = 60


@dataclass(frozen=True, slots=True)
class FlashMessage:
    """A text that is shown once.

    Attributes:
        kind: `link`, `token`, `warnings` or `refusals`.
        name: account of the link, or name of the token.
        text: the link, the token, or the messages as JSON.
    """

    kind: str
    name: str
    text: str


def hand_over(request: Request, response: Response, secret: FlashMessage, path: str = PATH) -> None:
    """Set the cookie that carries the text to the page that shows it."""
    content = base64.urlsafe_b64encode(json.dumps(astuple(secret)).encode()).decode()
    name, sealed = visitors.cookie_name(request, COOKIE), f"{content}.{_seal(request, content)}"
    visitors.keep_cookie(request, response, name, sealed, path=path, seconds=SECONDS)


def handed_over(request: Request) -> FlashMessage | None:
    """Return the text in the browser's cookie, or None if there is none of this session."""
    content, _, seal = request.cookies.get(visitors.cookie_name(request, COOKIE), "").partition(".")
    if not hmac.compare_digest(_seal(request, content).encode(), seal.encode("utf-8", "replace")):
        return None
    try:
        return FlashMessage(*map(str, json.loads(base64.urlsafe_b64decode(content))))
    except (ValueError, TypeError):
        return None


def forget(request: Request, response: Response, path: str = PATH) -> None:
    """Delete the cookie."""
    response.delete_cookie(
        visitors.cookie_name(request, COOKIE), path=path, httponly=True, secure=visitors.is_secure(request)
    )


def _seal(request: Request, content: str) -> str:
    session = visitors.session_of(request) or ""
    return hmac.new(
        session.encode("utf-8", "surrogateescape"), f"once {content}".encode(), hashlib.sha256
    ).hexdigest()
