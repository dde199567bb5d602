"""HTML to plain text (SPEC 2.4): inscriptis renders within a budget; a tag stripper handles what it refuses.

`shared.events.text` decides whether a text is HTML, and tidies the result.
"""

import re
from copy import copy
from html import unescape
from typing import Any
from urllib.parse import urljoin

from inscriptis import Inscriptis, document_fromstring
from inscriptis.css_profiles import CSS_PROFILES
from inscriptis.html_properties import Display, WhiteSpace
from inscriptis.model.canvas import Canvas
from inscriptis.model.config import ParserConfig
from inscriptis.model.html_element import HtmlElement
from inscriptis.model.tag import CustomHtmlTagHandlerMapping

from shared.events.size import without_data

# Cleaned input never contains these characters, so they can serve as markers inside the parser.
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
_DESCRIBED_HINT = "a|font|iframe|img|input|label|span|textarea|video"  # with an attribute, no one types these
_TYPED_RARELY = "b|em|font|i|strong|u"
_OPENING_HINT = "p|br|hr|div|li|img|table|tr|td|th|ul|ol|html|h[1-6]|blockquote|pre"

MARKUP = re.compile(
    rf"</(?:{_CLOSING_HINT})\s*+>|<(?:{_OPENING_HINT})(?:{_ATTRIBUTE})*+\s*+/?>"
    rf"|<(?:{_DESCRIBED_HINT})(?:{_ATTRIBUTE})++\s*+/?>|(?<!\w)<(?:{_TYPED_RARELY})>(?=\w)",
    re.IGNORECASE,
)
"""Tags that identify HTML even if the event does not state the format."""
_TAG_START = rf"/?(?:{_NAMES})(?=[\s/>])"
# "a<b and c>d" is not bold text: an attribute of these one-letter tags must have a value.
_STRAY = re.compile(rf"<(?:(?![/a-z])|(?!{_TAG_START})|(?=[abiqsu]\s++[^\s<>=/][^<>=]*+>))", re.IGNORECASE)
TAG = re.compile(rf"<(/?)({_NAMES})(?=[\s/>])[^<>]*+>", re.IGNORECASE)
"""Any HTML tag."""
_DROPPED = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style)\b[^<>]*+>.*?(?:</\1[^<>]*+>|\Z)|<(?:!doctype|!\[|\?xml)[^<>]*+>",
    re.IGNORECASE | re.DOTALL,
)
_UNSHOWN = ("svg", "title")
_ESCAPED_CONDITION = re.compile(r"&lt;!(?:--)?\[(?:if\b[^&<>\[\]]{0,100}|endif)\](?:--)?&gt;", re.IGNORECASE)
_REFERENCE = re.compile(r"&#?\w{1,31};")
_ENDLESS_NUMBER = re.compile(r"&#\d{20,}+;?")  # int() refuses very long numbers
_RENDERED_LINK = re.compile(
    f"( ?){_LINK}( ?)([^{_LINK}{_ADDRESS}]*+){_ADDRESS}([^{_LINK}{_ADDRESS}{_LINK_END}]*+){_LINK_END}( ?)"
)
_HIDDEN = re.compile(r"display\s*+:\s*+none|visibility\s*+:\s*+hidden|mso-hide\s*+:\s*+all", re.IGNORECASE)
_WHITE_SPACE = re.compile(r"white-space\s*+:\s*+(pre|break-spaces|normal|nowrap)", re.IGNORECASE)
_FONT_SIZE = re.compile(r"font-size\s*+:\s*+(?:(0(?:\.0*+)?(?:[a-z]++|%)?(?![\w.%]))|[\w.])", re.IGNORECASE)
_FILE_KEY = re.compile(
    r"#?(?:[0-9a-f]{6,}(?:[-.][0-9a-f]+)+|[0-9a-f]{13,})#?|image_?paste\w*(?:\.\w+)?", re.IGNORECASE
)
_STORED_FILE = re.compile(r"(?:^|/)document\.send\.php\?", re.IGNORECASE)
_PASTED = "pasted-image"
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*+:", re.IGNORECASE)
_NUMBER = re.compile(r"-?[0-9]{1,9}")


def from_html(text: str, base: str | None = None) -> str:
    """Render HTML as plain text that is not yet tidied.

    Args:
        text: HTML without control characters.
        base: the URL that resolves relative URLs.
    """
    text = without_data(text)
    for name in _UNSHOWN:
        text = _without(text, name)
    text = _ESCAPED_CONDITION.sub("", _DROPPED.sub("", text))
    # A "<" that opens no tag is part of the text; the parser would swallow the text after it.
    html = _STRAY.sub(_LESS, text)
    # References are decoded once, at the end: the renderer would decode some of them twice.
    html = html.replace("&", _AMP)
    tags = html.count("<")
    rendered = None if tags > _MAX_TAGS or tags * len(html) > _MAX_WORK else _render(html, base)
    plain = _strip_tags(html) if rendered is None else _RENDERED_LINK.sub(_with_address, rendered)
    plain = _ENDLESS_NUMBER.sub("\ufffd", plain.replace(_AMP, "&"))
    return unescape(plain).replace(_LESS, "<").replace(_LITERAL_AMP, "&")


def _without(text: str, name: str) -> str:
    """Remove closed elements; the search stops at the last closing tag, otherwise it would take quadratic time."""
    last = text.lower().rfind(f"</{name}")
    if last < 0:
        return text
    end = text.find(">", last) + 1 or len(text)
    inside = rf"<{name}\b[^<>]*+>.*?</{name}(?:\b[^<>]*+>)?"
    return re.sub(inside, "", text[:end], flags=re.IGNORECASE | re.DOTALL) + text[end:]


def _render(html: str, base: str | None) -> str | None:
    try:
        tree = document_fromstring(html + _END)
        # Beyond a depth of about 250 elements the parser stops silently, before it reaches the end marker.
        if not any(_END in text for text in tree.itertext()):
            return None
        _prepare(tree, base)
        text: str = Inscriptis(tree, _config()).get_text()
    except Exception:  # noqa: BLE001 (whatever it was, the tag stripper can do without)
        return None
    return text.replace(_END, "")


def _prepare(tree: Any, base: str | None) -> None:
    """Prepare the tree for rendering: remove hidden text, make URLs absolute, show pasted pictures as URLs."""
    unseen: dict[Any, bool] = {}
    elements = [one for one in tree.iter() if isinstance(one.tag, str)]
    for element in elements:
        style = element.get("style", "")
        parent = unseen.get(element.getparent(), False)
        sizes = _FONT_SIZE.findall(style)
        unseen[element] = bool(sizes[-1]) if sizes else parent
        if "hidden" in element.attrib or _HIDDEN.search(style):
            element.text = ""
            for child in list(element):
                element.remove(child)
        if unseen[element]:
            element.text = ""
        if parent:
            element.tail = ""
        if element.tag == "a":
            address = _address(element.get("href", ""))
            element.set("href", _absolute(address, base) or address)
        elif element.tag == "img":
            _show_image(element, base)
        elif element.tag in ("pre", "table") and _follows_block(element):
            element.set("after", "block")


def _show_image(image: Any, base: str | None) -> None:
    """Show a pasted picture as its URL, because its alternative text is missing or only the key of its file."""
    source, alt = image.get("src", ""), image.get("alt", "").strip()
    is_pasted = _STORED_FILE.search(source) or source.strip().lower().startswith("data:")
    if not _FILE_KEY.fullmatch(alt) and (alt or not is_pasted):
        return
    address = (_absolute(_address(source), base) or "").replace(
        "&", "&amp;amp;"
    )  # decoded twice from here on
    image.tag, image.text = _PASTED, f"[image: {address}]" if address else "[image]"
    link = image.getparent()
    if link is not None and link.tag == "a" and "".join(link.itertext()).strip() == image.text:
        link.attrib.pop("href", None)


def _absolute(address: str, base: str | None) -> str | None:
    """Return the absolute URL, or None if it is unknown or does not lead to a page."""
    if _SCHEME.match(address):
        return None if address.lower().startswith("data:") else address
    if not base or not address or address.startswith("#"):
        return None
    try:
        return urljoin(base.rstrip("/") + "/", address)
    except ValueError:
        return None


def _address(written: str) -> str:
    return " ".join(_decoded(written).replace(_LESS, "<").split())


def _follows_block(element: Any) -> bool:
    """Return whether a table or code would touch the block before it."""
    while element is not None and element.getprevious() is None:
        element = element.getparent()
        if element is None or (element.text or "").strip():
            return False
    before = element.getprevious()
    return before.tag in ("ol", "pre", "table", "ul") and not (before.tail or "").strip()


def _strip_tags(html: str) -> str:
    def replacement(match: re.Match[str]) -> str:
        name = match[2].lower()
        if name == "li" and not match[1]:
            return "\n* "
        if name in ("td", "th"):
            return " "
        return "\n" if name in _LINE_BREAKING else ""

    lines = TAG.sub(replacement, " ".join(html.split())).split("\n")
    return "\n".join(line.strip() for line in lines)


def _with_address(match: re.Match[str]) -> str:
    before, inner, label, address, after = match.groups()
    shown = label.rstrip()
    if shown and not _names(_decoded(shown), _decoded(address)):
        shown += f" ({address})"
    trailing = " " if after or label != label.rstrip() else ""
    return (" " if before or inner else "") + shown + trailing


def _names(label: str, address: str) -> bool:
    """Return whether a link's text ends in its address, ignoring the scheme and a trailing slash."""
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
    # Inscriptis starts at the body element and writes the text into it, so each rendering needs its own copy.
    config = ParserConfig(css=_CSS | {"body": copy(_CSS["body"])}, custom_html_tag_handler_mapping=_HANDLERS)
    # Only styles that matter for reading are applied: a margin or padding could request gigabytes of blanks.
    config.attribute_handler.attribute_mapping = {"style": _apply_style}
    return config


def _apply_style(style: str, element: Any) -> None:
    for said in _WHITE_SPACE.findall(style)[-1:]:
        element.whitespace = WhiteSpace.normal if said.lower().startswith("no") else WhiteSpace.pre


def _start_list(state: Any, _attributes: Any) -> None:
    state.li_counter.append("* ")  # the renderer's own bullets change with the depth


def _start_numbers(state: Any, attributes: Any) -> None:
    state.li_counter.append(_number(attributes.get("start"), 1))


def _start_item(state: Any, attributes: Any) -> None:
    bullet = state.li_counter[-1] if state.li_counter else "* "
    if isinstance(bullet, int):
        bullet = _number(attributes.get("value"), bullet)
        state.li_counter[-1] = bullet + 1
        bullet = f"{bullet}. "
    state.tags[-1].list_bullet = bullet


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text and _NUMBER.fullmatch(text.strip()) else otherwise


def _start_link(state: Any, attributes: Any) -> None:
    address = attributes.get("href", "").removeprefix("mailto:")
    state.link_target = "" if address.startswith(("#", "javascript:", "data:")) else address
    if state.link_target:
        state.tags[-1].write(_LINK)


def _end_link(state: Any) -> None:
    if state.link_target:
        state.tags[-1].write(_ADDRESS + state.link_target.replace("&", _LITERAL_AMP) + _LINK_END)
    state.link_target = ""


def _start_image(state: Any, attributes: Any) -> None:
    state.tags[-1].write(attributes.get("alt", ""))


def _start_block(state: Any, attributes: Any) -> None:
    if "after" in attributes:
        state.tags[-1].margin_before = 1


def _start_table(state: Any, attributes: Any) -> None:
    _start_block(state, attributes)
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
    cells = [[cell.get_text().strip() for cell in row] for row in state.current_table.pop()]
    has_columns = any(_is_row(row) for row in cells)
    rows = [_row_text(row, has_columns) for row in cells]
    table = state.tags[-1]
    if table.display != Display.none and any(rows):
        table.canvas.flush_inline()
        table.canvas.write(table, "\n".join(row for row in rows if row), whitespace=WhiteSpace.pre)


def _is_row(cells: list[str]) -> bool:
    """Return whether a row has several cells, none of them long; other rows are layout, as in mails."""
    return sum(map(bool, cells)) > 1 and not _is_long(cells)


def _is_long(cells: list[str]) -> bool:
    return any(cell.count("\n") > 2 for cell in cells)


def _row_text(cells: list[str], has_columns: bool) -> str:
    if not any(cells) or len(cells) < 2 or not has_columns or _is_long(cells):
        return "\n".join(cell for cell in cells if cell)
    return " ".join(" | ".join(cells).split())


def _inheriting(element: Any) -> Any:
    """Return a copy that inherits its white space from its parent, unless it is preformatted."""
    element = copy(element)
    if element.whitespace is WhiteSpace.normal:
        element.whitespace = None
    return element


_ELEMENTS = {
    **{name: HtmlElement() for name in _INLINE.split()},
    **CSS_PROFILES["strict"],
    **{
        name: HtmlElement(display=Display.block)
        for name in (*_BLOCKS.split(), "table")
        if name not in ("html", "tbody", "tfoot", "thead", "tr") and name not in CSS_PROFILES["strict"]
    },
    _PASTED: HtmlElement(display=Display.block),
    "ul": HtmlElement(display=Display.block, padding_inline=2),
    "ol": HtmlElement(display=Display.block, padding_inline=3),
}
_CSS = {name: _inheriting(one) for name, one in _ELEMENTS.items()} | {"body": _ELEMENTS["body"]}
_HANDLERS = CustomHtmlTagHandlerMapping(
    start_tag_mapping={
        "a": _start_link,
        "img": _start_image,
        "ul": _start_list,
        "ol": _start_numbers,
        "li": _start_item,
        "pre": _start_block,
        "table": _start_table,
        "tr": _start_row,
        "td": _start_cell,
        "th": _start_cell,
    },
    end_tag_mapping={"a": _end_link, "table": _end_table},
)
