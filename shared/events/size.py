"""Limits the size of rich texts from a help desk, without rendering them: the producer needs no parser for HTML."""

from __future__ import annotations

import re

_INLINE_DATA = re.compile(
    r"""(=\s{0,5}"\s{0,5}data:)[^"<>]*+|(=\s{0,5}'\s{0,5}data:)[^'<>]*+"""
    r"|(data:)[\w/+.-]{1,100}(?:;[\w=.-]{1,50}){0,5};base64,[\w/+=]*+",
    re.IGNORECASE,
)
_UNFINISHED = re.compile(r"(?:<[^<>]{0,4096}|&[#\w]{0,31})\Z")
MOST_BYTES = 300_000
"""Size of a rich text that is kept; GLPI's plug-in sends as much."""


def fitting(rich: str | None) -> str | None:
    """Return rich text in a size that can be stored: without the data of pictures, and truncated if still too long."""
    text = without_data(rich or "")
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= MOST_BYTES:
        return text if rich is not None else None
    kept = encoded[:MOST_BYTES].decode("utf-8", "ignore")
    kept = _UNFINISHED.sub("", kept)  # otherwise the note would become part of the tag
    size = f"{round(len(encoded) / 1000)} kB"
    return (
        f"{kept}<p>[Truncated here: the text has {size}, and deskbridge keeps {MOST_BYTES // 1000} kB.]</p>"
    )


def without_data(text: str) -> str:
    """Return HTML without the data of pictures within it, which may take megabytes; each remains as `[image]`."""
    return _INLINE_DATA.sub(lambda match: match[1] or match[2] or match[3], text)
