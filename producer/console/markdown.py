"""The little Markdown that knowledge records use, as HTML; whatever is not of it stays text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

INLINE = re.compile(r"`([^`]+)`|\*\*(.+?)\*\*|\*(.+?)\*")
NUMBERED = re.compile(r"\d+\. ")


def as_html(text: str) -> Markup:
    """Return headings, paragraphs, lists, code and emphasis; the first heading is left out: the page has one."""
    return Markup("\n").join(_blocks(text))


def _blocks(text: str) -> Iterator[Markup]:
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = block.splitlines()
        if lines[0].startswith("# "):
            continue
        if lines[0].startswith("#"):
            yield Markup("<h2>{}</h2>").format(_inline(lines[0].lstrip("# ")))
        elif NUMBERED.match(lines[0]) or lines[0].startswith("- "):
            yield _list(lines)
        else:
            yield Markup("<p>{}</p>").format(_inline(" ".join(lines)))


def _list(lines: list[str]) -> Markup:
    items: list[str] = []
    for line in lines:
        if NUMBERED.match(line) or line.startswith("- "):
            items.append(NUMBERED.sub("", line, count=1).removeprefix("- "))
        elif items:
            items[-1] += f" {line.strip()}"
    tag = Markup("ol" if NUMBERED.match(lines[0]) else "ul")
    inner = Markup().join(Markup("<li>{}</li>").format(_inline(one)) for one in items)
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
