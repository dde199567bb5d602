"""The text of a message to people: plain text, which every service accepts. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from shared.notices.notice import Notice
from shared.notices.render import sentence
from shared.notifications.due import Cause

NAME = "deskbridge"
MOST_LISTED = 10


def title(causes: Sequence[Cause]) -> str:
    """Return the first line of a message.

    Args:
        causes: the causes that it reports.
    """
    if len(causes) == 1:
        return f"{NAME}: {sentence(causes[0].what)}"
    return f"{NAME}: {len(causes)} things need you"


def body(causes: Sequence[Cause], console_url: str | None) -> str:
    """Return the body of a message: each cause, with the address of the page where it can be fixed.

    Args:
        causes: the causes that it reports.
        console_url: where browsers reach the console; None if it is unknown.
    """
    parts = [_part(one.what, one.path, console_url) for one in causes[:MOST_LISTED]]
    if len(causes) > MOST_LISTED:
        left = len(causes) - MOST_LISTED
        parts.append(f"And {left} more:\n{_address('/console', console_url)}")
    return "\n\n".join(parts)


def _part(what: Notice, path: str, console_url: str | None) -> str:
    text = sentence(what)
    return f"{text[:1].upper()}{text[1:]}.\n{_address(path, console_url)}"


def _address(path: str, console_url: str | None) -> str:
    if console_url:
        return f"{console_url}{path}"
    return f"See the console's page {path} (set DESKBRIDGE_CONSOLE_URL to get its address here)"
