"""Addresses of the console's pages: their parameters, and the way back."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlencode

PAGES = "/console"
PASSING = ("did", "sent", "of")
"""Parameters that say what was done just now."""


def address(path: str, **parameters: Any) -> str:
    """Return an address with the parameters that have a value."""
    given = {name: value for name, value in parameters.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def with_parameters(to: str, **parameters: Any) -> str:
    """Return an address with further parameters, which stand before its fragment."""
    given = {name: value for name, value in parameters.items() if value not in (None, "")}
    if not given:
        return to
    path, mark, fragment = to.partition("#")
    return f"{path}{'&' if '?' in path else '?'}{urlencode(given)}{mark}{fragment}"


def way_back(text: str | None) -> str | None:
    """Return a page of this console that an address names as the way back; None for anything else."""
    return text if text and own_path(text) == text else None


def lasting(path: str, query: str) -> str:
    """Return an address without what was done just now."""
    kept = [(name, value) for name, value in parse_qsl(query) if name not in PASSING]
    return f"{path}?{urlencode(kept)}" if kept else path


def own_path(text: str) -> str:
    """Return where to go after signing in: a page of ours and nowhere else."""
    fine = text == PAGES or text.startswith((f"{PAGES}/", f"{PAGES}?"))
    plain = all(" " < one < "\x7f" and one != "\\" for one in text)
    return text if fine and plain and "//" not in text.partition("?")[0] else PAGES
