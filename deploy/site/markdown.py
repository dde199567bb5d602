"""The few Markdown elements of generated tables."""

from __future__ import annotations

from collections.abc import Iterable

Rows = Iterable[Iterable[object]]


def table(heading: tuple[str, ...], rows: Rows) -> str:
    """Return a table."""
    first, *others = ("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in (heading, *rows))
    return "\n".join([first, "|" + "---|" * len(heading), *others])


def code(text: object) -> str:
    """Return a text as code; an empty text stays empty."""
    return f"`{text}`" if text not in ("", None) else ""


def prose(text: str | None) -> str:
    """Return a text with its angle brackets escaped, except in code."""
    parts = (text or "").split("`")
    return "`".join(part if place % 2 else part.replace("<", "&lt;") for place, part in enumerate(parts))


def link(target: str, text: str) -> str:
    """Return a link to a file, by its path in the repository."""
    return f"[{text}](/{target})"


def _cell(value: object) -> str:
    return str(value).replace("\n", " ").replace("|", "\\|")
