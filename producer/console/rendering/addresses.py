"""Addresses of the console's pages: parameters and return addresses."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlencode

PAGES = "/console"
PASSING = ("did", "sent", "of")
"""Parameters that report what was just done."""


def address(path: str, **parameters: Any) -> str:
    """Return an address with the parameters that have a value."""
    given = {name: value for name, value in parameters.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def with_parameters(to: str, **parameters: Any) -> str:
    """Return an address with further parameters, placed before its fragment."""
    given = {name: value for name, value in parameters.items() if value not in (None, "")}
    if not given:
        return to
    path, mark, fragment = to.partition("#")
    return f"{path}{'&' if '?' in path else '?'}{urlencode(given)}{mark}{fragment}"


def way_back(text: str | None) -> str | None:
    """Return a return address if it is a page of this console; None for anything else."""
    return text if text and own_path(text) == text else None


def lasting(path: str, query: str) -> str:
    """Return an address without the parameters that report what was just done."""
    kept = [(name, value) for name, value in parse_qsl(query) if name not in PASSING]
    return f"{path}?{urlencode(kept)}" if kept else path


def own_path(text: str) -> str:
    """Return an address if it is a page of this console, or else the first page's."""
    fine = text == PAGES or text.startswith((f"{PAGES}/", f"{PAGES}?"))
    plain = all(" " < one < "\x7f" and one != "\\" for one in text)
    return text if fine and plain and "//" not in text.partition("?")[0] else PAGES
