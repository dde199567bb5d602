"""Rich text to plain text, and the small conversions of SPEC 2.4.

An event says whether its texts are HTML or plain. If it does not, a text is HTML, HTML escaped once more, or plain: it
counts as HTML only if it holds a tag that people do not type by accident: a closing tag, or a tag with well-formed
attributes. Rendering is inscriptis' work, inside a budget; what it refuses goes through a plain tag stripper.
"""

import re
import unicodedata
from html import unescape

from shared.events.rendering import MARKUP, TAG, from_html
from shared.values.characters import NOT_TEXT

_ESCAPED = re.compile(
    r"&(?:amp|lt|gt|quot|apos|nbsp|#0*(?:34|38|39|60|62|160)|#x0*(?:22|26|27|3c|3e|a0));",
    re.IGNORECASE,
)


_MEANT = {code: bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0)}
"""Control characters that Windows-1252 has other characters for: no one means the control character."""
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""What shows a text in another order than it is written, such as a file's name with another ending."""
_SHOWS_NOTHING = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def plain_text(rich: str | None, content_format: str | None = None, base: str | None = None) -> str:
    r"""Turn rich text into what a person would read (SPEC 2.4).

    Block elements become lines, lists ``* item`` or ``1. item``, links ``text (address)`` where the two
    differ, table rows ``a | b``, images their alternative text, pasted ones ``[image: address]``. Text without markup
    keeps its characters and line breaks; only the escapes of ``& < > " '`` and the hard blank are undone.

    Args:
        rich: HTML, HTML escaped once more, plain text, or None.
        content_format: ``html`` or ``plain``; None: it is not known.
        base: the address to which relative addresses of the text belong.

    Returns:
        Plain text: lines end in ``\\n`` and have no trailing blanks, never two empty lines in a row, no outer
        blanks, no control characters but tab and line feed, no surrogates, nothing that reorders it. Empty if it would
        show nothing. Never raises.
    """
    text = _tidy(_read(_clean(rich or ""), content_format, base))
    return text if any(map(_shows, text)) else ""


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


def _read(text: str, content_format: str | None, base: str | None) -> str:
    if content_format == "plain":
        return text
    if MARKUP.search(text) or (content_format == "html" and TAG.search(text)):
        return from_html(text, base)
    unescaped = _unescape_once(text)
    if MARKUP.search(unescaped):
        return from_html(unescaped, base)
    # A helpdesk shows old texts without a tag line by line, though its texts are HTML.
    return unescape(text) if content_format == "html" else unescaped


def _shows(character: str) -> bool:
    if character in _SHOWS_NOTHING or "\ufe00" <= character <= "\ufe0f":
        return False
    return unicodedata.category(character) not in ("Cf", "Cc", "Zs", "Zl", "Zp")


def _clean(text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").translate(_MEANT)
    return _REORDERING.sub("", NOT_TEXT.sub("", lines))


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
