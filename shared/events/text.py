"""Rich text to plain text, and the small conversions of SPEC 2.4.

The helpdesk sends HTML, HTML escaped once more, or plain text, without saying which. Text counts as HTML
only if it holds a tag that people do not type by accident: a closing tag, or a block tag with well-formed
attributes. Rendering is inscriptis' work, inside a budget; what it refuses goes through a plain tag stripper.
"""

import re
import unicodedata
from html import unescape

from shared.events.rendering import MARKUP, from_html
from shared.values.characters import NOT_TEXT

_ESCAPED = re.compile(
    r"&(?:amp|lt|gt|quot|apos|nbsp|#0*(?:34|38|39|60|62|160)|#x0*(?:22|26|27|3c|3e|a0));",
    re.IGNORECASE,
)


def plain_text(rich: str | None) -> str:
    r"""Turn rich text into what a person would read (SPEC 2.4).

    Block elements become lines, lists ``* item`` or ``1. item``, links ``text (address)`` where the two
    differ, table rows ``a | b``, images their alternative text. Text without markup keeps its characters and
    line breaks; only the escapes of ``& < > " '`` and the hard blank are undone.

    Args:
        rich: HTML, HTML escaped once more, plain text, or None.

    Returns:
        Plain text: lines end in ``\\n`` and have no trailing blanks, never two empty lines in a row, no outer
        blanks, no control characters but tab and line feed, no surrogates. Never raises.
    """
    text = _clean(rich or "")
    if not MARKUP.search(text):
        text = _unescape_once(text)
        if not MARKUP.search(text):
            return _tidy(text)
    return _tidy(from_html(text))


def one_line(rich: str | None, limit: int) -> str:
    """Turn rich text into one line, for a subject (SPEC 2.4: truncated, nothing marks the cut).

    Args:
        rich: as for `plain_text`.
        limit: most characters (code points) to return.

    Returns:
        The text with every run of white space as one blank, at most `limit` characters, without outer blanks.
    """
    text = " ".join(plain_text(rich).split())
    return text[: _boundary(text, limit)].rstrip()


def cut(text: str, limit: int, mark: str = "…") -> str:
    """Cut a text, such as a comment, and mark the cut with ``…`` as its last character.

    Args:
        text: plain text.
        limit: most characters (code points) to return, the mark included.
        mark: what stands for the part that was cut off.

    Returns:
        The text itself if it is short enough.
    """
    if len(text) <= limit:
        return text
    room = limit - len(mark)
    return text[: _boundary(text, room)].rstrip() + mark if room >= 0 else ""


def hours(seconds: int) -> float:
    """Convert seconds to decimal hours, not rounded: 5400 becomes 1.5 (SPEC 2.4)."""
    return seconds / 3600


def normalised(text: str) -> str:
    r"""Give a text the form in which the tracker stores it, to compare the two.

    Args:
        text: a text we sent or the tracker returned.

    Returns:
        The text with line ends as ``\\n`` and without outer blanks; blanks at the ends of inner lines stay.
    """
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _clean(text: str) -> str:
    return NOT_TEXT.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def _unescape_once(text: str) -> str:
    return _ESCAPED.sub(lambda match: unescape(match[0].lower()), text)


def _tidy(text: str) -> str:
    lines: list[str] = []
    for line in _clean(text).replace("\xa0", " ").split("\n"):
        kept = line.rstrip()
        if kept or (lines and lines[-1]):
            lines.append(kept)
    return "\n".join(lines).strip()


def _boundary(text: str, limit: int) -> int:
    """Find where to cut: at `limit`, or a little before it where the cut would split a composed character."""
    end = limit = max(limit, 0)
    if len(text) <= limit:
        return limit
    while end > 0 and (_joins(text[end]) or text[end - 1] == "\u200d"):
        end -= 1
    return end if limit - end <= 32 and end else limit


def _joins(character: str) -> bool:
    return character == "\u200d" or unicodedata.category(character).startswith("M")
