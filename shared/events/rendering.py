"""HTML to plain text (SPEC 2.4): inscriptis renders, inside a budget; what it refuses goes through a tag stripper.

`shared.events.text` decides what is HTML at all, and tidies what comes back.
"""

import re
from copy import copy
from html import unescape
from typing import Any

from inscriptis import get_text
from inscriptis.css_profiles import CSS_PROFILES
from inscriptis.html_properties import Display, WhiteSpace
from inscriptis.model.canvas import Canvas
from inscriptis.model.config import ParserConfig
from inscriptis.model.html_element import HtmlElement
from inscriptis.model.tag import CustomHtmlTagHandlerMapping

# Input never holds these once cleaned, so they can stand for something on the way through the parser.
_LINK, _ADDRESS, _LINK_END, _LESS, _AMP, _LITERAL_AMP, _END = "\x01\x02\x03\x04\x05\x06\x07"

# The renderer copies the current line for each tag: its work grows with tags times characters.
_MAX_TAGS = 15_000
_MAX_WORK = 1_000_000_000

_BLOCKS = (
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol option p pre section summary "
    "table tbody tfoot thead tr ul"
)
_INLINE = (
    "a abbr acronym audio b base bdi bdo big br button canvas cite code col colgroup data datalist del "
    "dfn em embed font head i iframe img input ins kbd label link map mark meta meter noscript object "
    "optgroup output param picture progress q rp rt ruby s samp script select small source span strike "
    "strong style sub sup svg td template textarea th time title tt u var video wbr"
)
_NAMES = "|".join(f"{_BLOCKS} {_INLINE}".split()) + "|[ovw]:[a-z]+"
_ATTRIBUTE = r"""\s+[a-z_:][\w:.-]*+\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'<>=`]++)"""
_LINE_BREAKING = frozenset(["br", *_BLOCKS.split()])
_CLOSING_HINT = "|".join(
    name for name in f"{_BLOCKS} {_INLINE}".split() if name not in ("title", "link", "data")
)
_OPENING_HINT = "p|br|hr|div|li|img|table|tr|td|th|ul|ol|html|h[1-6]|blockquote|pre"

MARKUP = re.compile(
    rf"</(?:{_CLOSING_HINT})\s*+>|<(?:{_OPENING_HINT})(?:{_ATTRIBUTE})*+\s*+/?>",
    re.IGNORECASE,
)
_TAG_START = rf"/?(?:{_NAMES})(?=[\s/>])"
# "a<b and c>d" is no bold text: an attribute of these has a value.
_STRAY = re.compile(rf"<(?:(?![/a-z])|(?!{_TAG_START})|(?=[abiqsu]\s++[^\s<>=/][^<>=]*+>))", re.IGNORECASE)
_TAG = re.compile(rf"<(/?)({_NAMES})(?=[\s/>])[^<>]*+>", re.IGNORECASE)
_DROPPED = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style)\b[^<>]*+>.*?(?:</\1[^<>]*+>|\Z)|<(?:!doctype|!\[|\?xml)[^<>]*+>",
    re.IGNORECASE | re.DOTALL,
)
_INLINE_DATA = re.compile(r"data:[\w/+.-]{1,100};base64,[\w/+=]*+")
_REFERENCE = re.compile(r"&#?\w{1,31};")
_ENDLESS_NUMBER = re.compile(r"&#\d{20,}+;?")  # int() refuses very long numbers
_RENDERED_LINK = re.compile(
    f"( ?){_LINK}( ?)([^{_LINK}{_ADDRESS}]*+){_ADDRESS}([^{_LINK}{_ADDRESS}{_LINK_END}]*+){_LINK_END}( ?)"
)
_HIDDEN = re.compile(r"display\s*+:\s*+none", re.IGNORECASE)
_PREFORMATTED = re.compile(r"white-space\s*+:\s*+pre", re.IGNORECASE)


def from_html(text: str) -> str:
    """Render HTML as plain text, untidied.

    Args:
        text: HTML without control characters.
    """
    # A "<" that opens no tag is the writer's own; the parser would swallow what follows it.
    html = _STRAY.sub(_LESS, _INLINE_DATA.sub("data:", _DROPPED.sub("", text)))
    # References are decoded once, at the end: the renderer would decode some of them twice.
    html = html.replace("&", _AMP)
    tags = html.count("<")
    rendered = None if tags > _MAX_TAGS or tags * len(html) > _MAX_WORK else _render(html)
    plain = _strip_tags(html) if rendered is None else _RENDERED_LINK.sub(_with_address, rendered)
    plain = _ENDLESS_NUMBER.sub("\ufffd", plain.replace(_AMP, "&"))
    return unescape(plain).replace(_LESS, "<").replace(_LITERAL_AMP, "&")


def _render(html: str) -> str | None:
    try:
        # Beyond a depth of some 250 elements the parser stops without a word, short of the mark at the end.
        text: str = get_text(html + _END, _config())
    except Exception:  # noqa: BLE001 (whatever it was, the tag stripper can do without)
        return None
    return text.replace(_END, "") if _END in text else None


def _strip_tags(html: str) -> str:
    def replacement(match: re.Match[str]) -> str:
        name = match[2].lower()
        if name == "li" and not match[1]:
            return "\n* "
        if name in ("td", "th"):
            return " "
        return "\n" if name in _LINE_BREAKING else ""

    lines = _TAG.sub(replacement, " ".join(html.split())).split("\n")
    return "\n".join(line.strip() for line in lines)


def _with_address(match: re.Match[str]) -> str:
    before, inner, label, address, after = match.groups()
    shown = label.rstrip()
    if shown and not _names(_decoded(shown), _decoded(address)):
        shown += f" ({address})"
    trailing = " " if after or label != label.rstrip() else ""
    return (" " if before or inner else "") + shown + trailing


def _names(label: str, address: str) -> bool:
    """Tell whether the text of a link ends in its address, give or take the scheme and a last slash."""
    last_word = label.split()[-1:]
    return [_bare(word) for word in last_word] == [_bare(address)]


def _bare(address: str) -> str:
    return re.sub(r"^(?:https?://|mailto:|tel:)", "", address.lower()).rstrip("/")


def _decoded(text: str) -> str:
    return _REFERENCE.sub(
        lambda match: unescape(match[0]),
        text.replace(_AMP, "&").replace(_LITERAL_AMP, "&"),
    )


def _config() -> Any:
    # The body's element is where inscriptis begins, and keeps what is written: no other rendering may have it.
    config = ParserConfig(css=_CSS | {"body": copy(_CSS["body"])}, custom_html_tag_handler_mapping=_HANDLERS)
    # Of style attributes only what decides on reading: a margin or padding could ask for gigabytes of blanks.
    config.attribute_handler.attribute_mapping = {"style": _apply_style}
    return config


def _apply_style(style: str, element: Any) -> None:
    if _HIDDEN.search(style):
        element.display = Display.none
    if _PREFORMATTED.search(style):
        element.whitespace = WhiteSpace.pre


def _start_list(state: Any, _attributes: Any) -> None:
    state.li_counter.append("* ")  # the renderer's own bullets change with the depth


def _start_link(state: Any, attributes: Any) -> None:
    address = " ".join(_decoded(attributes.get("href", "")).split()).removeprefix("mailto:")
    state.link_target = "" if address.startswith(("#", "javascript:", "data:")) else address
    if state.link_target:
        state.tags[-1].write(_LINK)


def _end_link(state: Any) -> None:
    if state.link_target:
        state.tags[-1].write(_ADDRESS + state.link_target.replace("&", _LITERAL_AMP) + _LINK_END)
    state.link_target = ""


def _start_image(state: Any, attributes: Any) -> None:
    state.tags[-1].write(attributes.get("alt", ""))


def _start_table(state: Any, _attributes: Any) -> None:
    state.current_table.append([])


def _start_row(state: Any, _attributes: Any) -> None:
    if state.current_table:
        state.current_table[-1].append([])


def _start_cell(state: Any, _attributes: Any) -> None:
    if not state.current_table:
        return
    rows = state.current_table[-1]
    if not rows:
        rows.append([])
    rows[-1].append(state.tags[-1].set_canvas(Canvas()).canvas)


def _end_table(state: Any) -> None:
    # The renderer pads each cell to the width of its column: one long cell above many rows fills the memory.
    rows = [_row_text([cell.get_text().strip() for cell in row]) for row in state.current_table.pop()]
    table = state.tags[-1]
    if table.display != Display.none and any(rows):
        table.canvas.flush_inline()
        table.canvas.write(table, "\n".join(row for row in rows if row), whitespace=WhiteSpace.pre)


def _row_text(cells: list[str]) -> str:
    filled = [cell for cell in cells if cell]
    # Mails use tables for their layout: one cell, or long ones side by side, read better one below the other.
    if len(filled) <= 1 or any(cell.count("\n") > 2 for cell in filled):
        return "\n".join(filled)
    return " | ".join(" ".join(cell.split()) for cell in cells).strip()


_CSS = {
    **CSS_PROFILES["strict"],
    **{
        name: HtmlElement(display=Display.block)
        for name in (*_BLOCKS.split(), "table")
        if name not in ("html", "tbody", "tfoot", "thead", "tr") and name not in CSS_PROFILES["strict"]
    },
    "ul": HtmlElement(display=Display.block, padding_inline=2),
    "ol": HtmlElement(display=Display.block, padding_inline=3),
}
_HANDLERS = CustomHtmlTagHandlerMapping(
    start_tag_mapping={
        "a": _start_link,
        "img": _start_image,
        "ul": _start_list,
        "table": _start_table,
        "tr": _start_row,
        "td": _start_cell,
        "th": _start_cell,
    },
    end_tag_mapping={"a": _end_link, "table": _end_table},
)
