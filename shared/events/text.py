"""Rich text to plain text, and the small conversions of SPEC 2.4.

An event may state whether its texts are HTML or plain. If not, a text is HTML, HTML escaped once more, or plain. It
counts as HTML only if it contains a tag that people do not type by accident: a closing tag, one such as ``<p>``, or one
with well-formed attributes. Inscriptis renders HTML within a budget; a plain tag stripper handles what it refuses.
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
_ENCODED_BY_GLPI_10 = re.compile("(?:[^&<>]|&#(?:38|60|62);)*+")

_MEANT = {code: bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0)}
"""Maps C1 control characters to the characters of Windows-1252, since no one means the control character."""
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Characters that reorder the displayed text and can, for example, disguise a file extension."""
_SHOWS_NOTHING = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def plain_text(rich: str | None, content_format: str | None = None, base: str | None = None) -> str:
    r"""Turn rich text into what a person would read (SPEC 2.4).

    Block elements become lines, lists ``* item`` or ``1. item``, links ``text (address)`` if the two
    differ, table rows ``a | b``, images their alternative text, pasted ones ``[image: address]``. Text without markup
    keeps its characters and line breaks; only escapes of ``& < > " '`` and non-breaking spaces are decoded.

    Args:
        rich: HTML, HTML escaped once more, plain text, or None.
        content_format: ``html`` or ``plain``, or None if unknown.
        base: the URL that resolves relative URLs of the text.

    Returns:
        Plain text: lines end in ``\\n`` and have no trailing blanks, never two empty lines in a row, no outer
        blanks, no control characters except tab and line feed, no surrogates, no reordering characters. Empty if
        nothing would be visible. Never raises.
    """
    text = _tidy(_read(_clean(rich or ""), content_format, base))
    return text if any(map(_shows, text)) else ""


def one_line(title: str | None, limit: int | None = None) -> str:
    """Turn a title or a name into one line for a subject (SPEC 2.4: truncated without a mark).

    Args:
        title: text, not HTML; GLPI 10 stored it with references for ``& < >``, which are decoded.
        limit: maximum number of characters (code points) to return.

    Returns:
        The text with every run of white space as one blank, at most `limit` characters, without outer blanks.
    """
    written = title or ""
    text = unescape(written) if _ENCODED_BY_GLPI_10.fullmatch(written) else written
    line = " ".join(plain_text(text, "plain").split())
    return line if limit is None else line[: _boundary(line, limit)].rstrip()


def cut(text: str, limit: int, mark: str = "…") -> str:
    """Shorten a text that is too long, such as a comment, and end it with a mark.

    Args:
        text: plain text.
        limit: maximum number of characters (code points) to return, including the mark.
        mark: replaces the part that was cut off.

    Returns:
        The text itself if it is short enough; an empty text if not even the mark fits.
    """
    if len(text) <= limit:
        return text
    room = limit - len(mark)
    return text[: _boundary(text, room)].rstrip() + mark if room >= 0 else ""


def hours(seconds: int) -> float:
    """Convert seconds to decimal hours, not rounded: 5400 becomes 1.5 (SPEC 2.4)."""
    return seconds / 3600


def normalised(text: str) -> str:
    r"""Return a text in the form in which the tracker stores it, for comparisons.

    Args:
        text: a text that we sent or the tracker returned.

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
    # A help desk shows old texts without tags line by line, even though its texts are HTML.
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
    """Return where to cut: at `limit`, or a little earlier if the cut would split a composed character."""
    end = limit = max(limit, 0)
    if len(text) <= limit:
        return limit
    while end > 0 and (_joins(text[end]) or text[end - 1] == "\u200d"):
        end -= 1
    return end if limit - end <= 32 and end else limit


def _joins(character: str) -> bool:
    return character == "\u200d" or unicodedata.category(character).startswith("M")
