"""Text for a field that the tracker renders as markup: people must see it there as it was written.

Prose is sent unchanged. If the tracker's formatter might change anything, the whole text is put into one fence. The
rules are wider than the tracker's own: a needless fence is a nuisance, a changed text is a fault. A link, a macro, a
picture or a mention of a person counts as a change; a mention would also send that person a mail.
"""

import re
from typing import Literal

Formatting = Literal["plain", "textile", "markdown", "common_mark"]
"""The tracker's markup language; `plain`: texts are sent unchanged."""

_JOINER = "\u2060"
"""An invisible character that does not break lines; splits markup that works even inside a fence."""

_CHANGED_EVERYWHERE = re.compile(
    r"""
      @ | :// | \bwww\.                                     # mentions, addresses
    | \{\{ | \[\[                                           # macros, wiki pages
    | \#(?=\d|note) | (?<![A-Za-z0-9])r\d                   # issues, revisions
    | \b(?:attachment|document|version|forum|news|message|project|commit|source|export|user):\S
    | (?:^|[\s(,\-\[>])!                                    # keeps a link from being one, and is left out
    | <\S | &\#?\w+;                                        # tags, character references
    | ^[ ] | [ ]$ | \t | (?<![.!?:;,])[ ]{2} | [ ]{3} | \n{3}   # white space that a page does not show
    | ^[>\#*|]                                              # quotations, headings, lists, tables
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_CHANGED_BY_TEXTILE = re.compile(
    r"""
      ^(?:p|bq|h[1-6]|fn\d*)[<>=()\[{\-^~.]                 # blocks by their name
    | ^[={] | == | ^[-_ ]{3,}$
    | \[\d+\] | (?<![A-Z0-9])[A-Z][A-Z0-9]++\( | ":      # footnotes, abbreviations, links
    | x%x%                                                  # its own stand-in for an ampersand
    """,
    re.VERBOSE | re.MULTILINE,
)
_CHANGED_BY_MARKDOWN = re.compile(
    r"""
      [\\`^] | ~~
    | (?<!\s)\* | \*(?!\s) | (?<![A-Za-z0-9])_ | _(?![A-Za-z0-9])
    | \]\s*[(\[:] | !\[                                     # links, definitions, pictures
    | ^[-+](?:\s|$) | ^\d+[.)](?:\s|$)                      # lists
    | ^[-=|:\ ]+$                                           # underlines, rules, tables
    """,
    re.VERBOSE | re.MULTILINE,
)
_SPANS = ("??", "*", "_", "-", "+", "^", "~", "%")
"""Textile's span marks: they open after a blank or bracket, and close before a blank, bracket or punctuation."""
_OPENING = {mark: re.compile(rf"(?:^|[\s(>])[-*_+^~%?]*?{re.escape(mark)}(?=\S)") for mark in _SPANS}
_CLOSING = {mark: re.compile(rf"(?<=\S){re.escape(mark)}(?![^\W_])") for mark in _SPANS}
_TABLE_OF_TEXTILE = re.compile(r"^[(\[{<>=^~-]", re.MULTILINE)
_ENDS_FENCE_OF_TEXTILE = re.compile(r"<(?=/?(?:pre|code|kbd|notextile|redpre))|x%(?=x%)", re.IGNORECASE)
_FENCES_OF_MARKDOWN = re.compile("~{3}|`{3}")
_MENTION = re.compile(r"@(?=\S)")
_ENDS_FENCE_OF_MARKDOWN = re.compile("^ {0,3}(?=~{3}|`{3})", re.MULTILINE)
_TILDES = re.compile("~+")
_LINE_END = re.compile(r"(?<=[^\n])\n(?=[^\n])")


def formatted(text: str, formatting: Formatting) -> str:
    r"""Write plain text so that the tracker's formatter shows it unchanged.

    Args:
        text: plain text with ``\\n`` line ends.
        formatting: the tracker's own text formatting.

    Returns:
        The text itself, or the text in a fence. For CommonMark, lines of prose end in two blanks, so that they stay
        separate even if the tracker joins lines.
    """
    if formatting == "plain" or not text:
        return text
    if is_changed(text, formatting):
        return _in_pre(text) if formatting == "textile" else _in_tildes(text, formatting)
    return _LINE_END.sub("  \n", text) if formatting == "common_mark" else text


def is_changed(text: str, formatting: Formatting) -> bool:
    """Return whether a formatter might show any part of a text differently from how it is written."""
    if formatting == "plain":
        return False
    if _CHANGED_EVERYWHERE.search(text):
        return True
    if formatting != "textile":
        return _CHANGED_BY_MARKDOWN.search(text) is not None
    if _CHANGED_BY_TEXTILE.search(text) or ("|" in text and _TABLE_OF_TEXTILE.search(text)):
        return True
    as_seen = text.replace("&", "x%x%").replace("\n", "<br />")  # the text in which Textile looks for spans
    return any(_has_span(as_seen, mark) for mark in _SPANS)


def _has_span(text: str, mark: str) -> bool:
    opening = _OPENING[mark].search(text)
    if opening is None:
        return False
    return any(closing.start() > opening.end() for closing in _CLOSING[mark].finditer(text, opening.end()))


def _in_pre(text: str) -> str:
    return f"<pre>\n{_ENDS_FENCE_OF_TEXTILE.sub(_parted, text)}\n</pre>"


def _in_tildes(text: str, formatting: Formatting) -> str:
    fence = "~" * max(3, 1 + max(map(len, _TILDES.findall(text)), default=0))
    if _FENCES_OF_MARKDOWN.search(text):
        # The tracker looks for mentions by a separate rule, which treats any of these as the end of the fence.
        text = _MENTION.sub(_parted, text)
        if formatting == "markdown":  # and so does this formatter, however long the fence is
            text = _ENDS_FENCE_OF_MARKDOWN.sub(_parted, text)
    return f"{fence}\n{text}\n{fence}"


def _parted(match: re.Match[str]) -> str:
    return match[0] + _JOINER
