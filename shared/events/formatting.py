"""Text for a field that the tracker renders as markup: people must see it there as it was written.

Prose stays prose: the characters that the tracker's formatter would interpret are escaped, and so are mentions of
people, which would also send mails, links to other issues, macros and pictures. Web and e-mail addresses become
links. Lines that need columns, such as a table of blanks, go into a fence. The rules are wider than the tracker's own:
a needless escape is a nuisance, a changed text is a fault.
"""

import re
from typing import Literal

Formatting = Literal["plain", "textile", "markdown", "common_mark"]
"""The tracker's markup language; `plain`: texts are sent unchanged."""

_JOINER = "\u2060"
"""An invisible character that does not break lines; splits markup that works even inside a fence."""
_NO_BREAK_SPACE = "\xa0"

_MOST_COLUMNS = 120
"""A longer line is prose: in a fence it would not wrap."""
_COLUMNS = re.compile(r"\t|\S {3}|^ {4,}+(?!\* |\d+\. )")
_UNSHOWN_BLANKS = re.compile("^ +|(?<= ) +", re.MULTILINE)

_TAIL = r"""(?=\w)
    (?>(?:(?:[.,;:?]|&(?!\#?\w+;))*(?:[\w/=\#%+~$-]|(?<![A-Z0-9])\([A-Za-z0-9]*\)))+)
    (?=[.,;:?)>\]]*"?[.,;?)]*!*(?:\s|$))
"""
_ADDRESS = rf"(?P<address>(?<![\w\\])https?://{_TAIL})"
_BARE_ADDRESS = rf"""(?P<bare>
      (?<![\w\\])(?:www\.|ftp://){_TAIL}
    | (?<![\w@.!\#$%+/\\-])(?>[A-Za-z0-9]+(?:[._+-][A-Za-z0-9]+)*)@(?>[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)+)(?![\w@-])
)"""
_LINK = r"""(?P<link>
      @ | :(?=//) | (?i:\bwww)(?=\.)                              # mentions, addresses
    | \[(?=\[|https?://|ftp://|www\.|[\w.+-]{1,64}@)              # wiki pages
    | !(?=[\w-]*:)                                                # keeps a link from being one, and is left out
    | \#(?=\#?(?:\d|note)) | (?<![A-Za-z0-9])r(?=\d)              # issues, revisions
    | \b(?:attachment|document|version|forum|news|message|project|commit|source|export|user):(?=\S)
    | (?i:mailto):(?=\S)
)"""
"""What the tracker turns into a link after its formatter has run."""
_MARKUP = r"""
    <(?=\S) | &(?=[\#\w]+;) | (?<=\{)\{                           # tags, character references, macros
    | ^[>\#*|]                                                    # quotations, headings, lists, tables
"""
_MARKUP_OF_TEXTILE = rf"""(?P<markup>{_MARKUP}
    | ^(?:p|bq|h[1-6]|fn\d*)[<>=()\[{{\-^~.]                      # blocks by their name
    | ^[={{] | =(?==) | ^[-_](?=[-_ ]{{2,}}$) | (?<![^\s>])!(?=\S)
    | \[(?=\d+\]) | (?<![A-Z0-9])[A-Z][A-Z0-9]++\( | ":           # footnotes, abbreviations, links
    | x%(?=x%|&)                                                  # its own stand-in for an ampersand
    | ^[(\[{{<>=^~-](?=[^\n|]*\|)                                 # tables
)"""
_MARKUP_OF_MARKDOWN = rf"""(?P<markup>{_MARKUP}
    | \\(?=[^A-Za-z0-9\s]|r\d|\ *$) | [`^] | ~(?=~) | (?<=\S)~
    | (?<!\s)\* | \*(?!\s) | (?<![A-Za-z0-9])_ | _(?![A-Za-z0-9])
    | \](?=\s*[(\[:]) | ^\[(?=[^\n]*\]:) | \[(?=\^) | !(?=\[)     # links, definitions, footnotes, pictures
    | ^[-+](?=\s|$) | ^\d+[.)](?=\s|$)                            # lists
    | ^[-=|:](?=[-=|:\ ]*$)                                       # underlines, rules, tables
)"""
_OF_TEXTILE, _OF_MARKDOWN = (
    re.compile(f"{_ADDRESS}|{_BARE_ADDRESS}|{_LINK}|{markup}", re.VERBOSE | re.MULTILINE)
    for markup in (_MARKUP_OF_TEXTILE, _MARKUP_OF_MARKDOWN)
)
_SPANS = ("??", "*", "_", "-", "+", "^", "~", "%")
"""Textile's span marks: they open after a blank or bracket, and close before a blank, bracket or punctuation."""
_OPENING = {
    mark: re.compile(rf"(?:^|[\s(>])[-*_+^~%?]*?{re.escape(mark)}(?=\S)", re.ASCII) for mark in _SPANS
}
_CLOSING = {mark: re.compile(rf"(?<=\S){re.escape(mark)}(?![^\W_])", re.ASCII) for mark in _SPANS}
_AMPERSAND = re.compile(r"&(?![\#a-z0-9]+;)", re.IGNORECASE)
_OPENINGS = re.compile(r"(?:^|(?<=[\s(>]))[-*_+^~%?]+(?=\S|\n)", re.ASCII | re.MULTILINE)
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
        Prose with escapes where the formatter needs them, and fences around lines that need columns. For CommonMark,
        lines of prose end in two blanks, so that they stay separate even if the tracker joins lines.
    """
    if formatting == "plain" or not text:
        return text
    has_fences = _FENCES_OF_MARKDOWN.search(text) is not None
    return "\n\n".join(
        _fence(part, formatting, has_fences) if is_fenced else _prose(part, formatting)
        for is_fenced, part in _parts(text)
    )


def _parts(text: str) -> list[tuple[bool, str]]:
    """Split a text into prose and lines that need a fence, with short lines that are between these or indented."""
    lines = text.split("\n")
    is_short = [len(line) <= _MOST_COLUMNS for line in lines]
    needs = [short and _COLUMNS.search(line) is not None for short, line in zip(is_short, lines, strict=True)]
    parts: list[tuple[bool, list[str]]] = []
    for line, short, before, need, after in zip(
        lines, is_short, [False, *needs], needs, [*needs[1:], False], strict=False
    ):
        is_fenced = need or (short and before + after >= (1 if line.startswith(" ") else 2))
        if not parts or parts[-1][0] != is_fenced:
            parts.append((is_fenced, []))
        parts[-1][1].append(line)
    joined = [(is_fenced, "\n".join(part).strip("\n")) for is_fenced, part in parts]
    return [(is_fenced, part) for is_fenced, part in joined if part]


def _prose(text: str, formatting: Formatting) -> str:
    def escaped(match: re.Match[str]) -> str:
        kind, before, last = match.lastgroup, match[0][:-1], match[0][-1]
        if kind in ("address", "bare"):
            return f"<{match[0]}>" if kind == "address" and formatting != "textile" else match[0]
        if kind == "link" and formatting == "common_mark":
            return before + _JOINER + last if before else last + _JOINER
        return before + ("\\" + last if kind == "markup" and formatting != "textile" else _reference(last))

    rules = _OF_TEXTILE if formatting == "textile" else _OF_MARKDOWN
    shown = rules.sub(escaped, text.expandtabs(4))
    shown = _UNSHOWN_BLANKS.sub(lambda blanks: _NO_BREAK_SPACE * len(blanks[0]), shown)
    if formatting == "textile":
        return _without_spans(shown)
    return _LINE_END.sub("  \n", shown) if formatting == "common_mark" else shown


def _reference(character: str) -> str:
    return f"&#{ord(character)};"


def _without_spans(text: str) -> str:
    # Textile looks for spans in this text
    as_seen = _AMPERSAND.sub("x%x%", text).replace("\n", "<br />")
    marks = "".join(mark for mark in _SPANS if _has_span(as_seen, mark))
    return _OPENINGS.sub(
        lambda opening: "".join(_reference(one) if one in marks else one for one in opening[0]), text
    )


def _has_span(text: str, mark: str) -> bool:
    opening = _OPENING[mark].search(text)
    if opening is None:
        return False
    return any(closing.start() > opening.end() for closing in _CLOSING[mark].finditer(text, opening.end()))


def _fence(text: str, formatting: Formatting, has_fences: bool) -> str:
    if formatting == "textile":
        return f"<pre>\n{_ENDS_FENCE_OF_TEXTILE.sub(_parted, text)}\n</pre>"
    fence = "~" * max(3, 1 + max(map(len, _TILDES.findall(text)), default=0))
    if has_fences:
        # The tracker looks for mentions by a separate rule, which treats any of these as the end of the fence.
        text = _MENTION.sub(_parted, text)
        if formatting == "markdown":  # and so does this formatter, however long the fence is
            text = _ENDS_FENCE_OF_MARKDOWN.sub(_parted, text)
    return f"{fence}\n{text}\n{fence}"


def _parted(match: re.Match[str]) -> str:
    return match[0] + _JOINER
