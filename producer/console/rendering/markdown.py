"""The subset of Markdown that knowledge articles use, as HTML; any other markup stays text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

from shared.notices.language import said

INLINE = re.compile(r"`([^`]+)`|\*\*(.+?)\*\*|\*(.+?)\*")
NUMBERED = re.compile(r"\d+\. ")


def as_html(text: str) -> Markup:
    """Return headings, paragraphs, lists, code and emphasis as HTML, in the page's language.

    The title is left out, because the page has one.
    """
    return Markup("\n").join(_blocks(text))


def texts_of(text: str) -> Iterator[str]:
    """Yield the texts to translate: each heading, paragraph and list item."""
    for block in _parted(text):
        if block[0].startswith("#"):
            yield block[0].lstrip("# ")
        elif _is_list(block):
            yield from _items(block)
        else:
            yield " ".join(block)


def _parted(text: str) -> Iterator[list[str]]:
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = block.splitlines()
        if not lines[0].startswith("# "):
            yield lines


def _is_list(lines: list[str]) -> bool:
    return bool(NUMBERED.match(lines[0])) or lines[0].startswith("- ")


def _blocks(text: str) -> Iterator[Markup]:
    for lines in _parted(text):
        if lines[0].startswith("#"):
            yield Markup("<h2>{}</h2>").format(_inline(said(lines[0].lstrip("# "))))
        elif _is_list(lines):
            yield _list(lines)
        else:
            yield Markup("<p>{}</p>").format(_inline(said(" ".join(lines))))


def _items(lines: list[str]) -> list[str]:
    items: list[str] = []
    for line in lines:
        if NUMBERED.match(line) or line.startswith("- "):
            items.append(NUMBERED.sub("", line, count=1).removeprefix("- "))
        elif items:
            items[-1] += f" {line.strip()}"
    return items


def _list(lines: list[str]) -> Markup:
    tag = Markup("ol" if NUMBERED.match(lines[0]) else "ul")
    inner = Markup().join(Markup("<li>{}</li>").format(_inline(said(one))) for one in _items(lines))
    return Markup("<{0}>{1}</{0}>").format(tag, inner)


def _inline(text: str) -> Markup:
    made, at = Markup(), 0
    for found in INLINE.finditer(text):
        made += escape(text[at : found.start()])
        code, strong, emphasis = found.groups()
        if code is not None:
            made += Markup("<code>{}</code>").format(code)
        elif strong is not None:
            made += Markup("<strong>{}</strong>").format(strong)
        else:
            made += Markup("<em>{}</em>").format(emphasis)
        at = found.end()
    return made + escape(text[at:])
