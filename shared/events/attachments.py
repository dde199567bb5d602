"""Documents as attachments: their file names on the tracker, and pictures within a text. Pure."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Mapping
from html import unescape
from pathlib import PurePath
from typing import Any
from urllib.parse import SplitResult, quote

from shared.events.formatting import Formatting, formatted
from shared.events.snapshots import Document
from shared.events.text import cut, plain_text
from shared.values.validation import parts_of

LONGEST_NAME = 200
ANY_TYPE = "application/octet-stream"
SHOWN_INLINE = (".bmp", ".gif", ".jpg", ".jpe", ".jpeg", ".png")
"""File extensions of attachments that the tracker can show within a text."""
TYPES = {
    ".bmp": "image/bmp",
    ".gif": "image/gif",
    ".jpe": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
    ".pdf": "application/pdf",
    ".txt": "text/plain",
    ".csv": "text/csv",
}
"""Content types by file extension, all without scripts: the tracker shows a file as its content type says, from its own
address. It derives the type of other files from their names, and offers those only as downloads."""
_NOT_IN_A_NAME = re.compile(r"[/?%*:|\"'<>\x00-\x1f\x7f]+")
"""Characters that the tracker replaces in file names, too."""
_INVISIBLE = re.compile(r"[\u00ad\u061c\u180e\u200b\u2060-\u2064\ufeff]+")
_END_OF_NAME = " .\u200c\u200d"
"""Characters that hide the extension at the end of a name."""
_PICTURE = re.compile(r"(<a\b[^<>]*+>\s{0,20})?<img\b([^<>]*+)>(\s{0,20}</a>)?", re.IGNORECASE)
_ADDRESS = re.compile(r"\b(?:src|href)\s{0,5}=\s{0,5}[\"']([^\"'<>]{0,2000})[\"']", re.IGNORECASE)
_NUMBER = re.compile(r"(?:^|[&;])docid=(\d{1,9})(?!\d)")
_STORED = "document.send.php"
_BLANKS = " \t\xa0"
_BEGIN, _END = "\ue000", "\ue001"


def attachment_name(document: Document) -> str:
    """Return the file name that a document has on the tracker.

    It depends on the document alone, so that the attachment can be found without the ledger. The name of a picture
    contains its number, because the tracker finds a text's pictures by name, and of several it shows the newest.
    """
    given = (document.name or "").replace("\\", "/").rpartition("/")[2]
    visible = _NOT_IN_A_NAME.sub("_", _INVISIBLE.sub("", plain_text(given, "plain")))
    tidy = " ".join(visible.split())
    name = PurePath(tidy.rstrip(_END_OF_NAME) or tidy or "document")
    ending = name.suffix or mimetypes.guess_extension(document.mime_type or "") or ""
    is_unclear = not given.strip() or not name.stem.strip(".")
    is_numbered = is_unclear or ending.lower() in SHOWN_INLINE
    number = f"-{document.id}" if is_numbered else ""
    stem = cut(name.stem.removesuffix(number), LONGEST_NAME - len(number + ending), "")
    return stem + number + ending[:LONGEST_NAME]


def attachment_body(document: Document, size: int | None) -> dict[str, Any]:
    """Return the request that attaches a document, as it is stored: without the upload token.

    Args:
        document: the document.
        size: its size in bytes, or None if unknown.
    """
    name = attachment_name(document)
    upload = {"filename": name, "content_type": TYPES.get(PurePath(name).suffix.lower(), ANY_TYPE)}
    return {"issue": {"uploads": [upload]}, "document": {"id": document.id, "size": size}}


def shown_documents(rich: str | None, base: str | None) -> set[int]:
    """Return the numbers of the documents that a rich text shows as pictures.

    Args:
        rich: the text.
        base: the help desk's URL; pictures of other addresses are no documents.
    """
    return {number for one in _PICTURE.finditer(rich or "") if (number := _number(one[2], base))}


def _number(attributes: str, base: str | None) -> int | None:
    """Return the number of the document to which a tag leads, or None."""
    written = _ADDRESS.search(attributes)
    address = parts_of(unescape(written[1]).strip().replace("\\", "/")) if written else None
    if address is None or not address.path.endswith(_STORED):
        return None
    if (address.scheme or address.netloc) and not _is_below(address, base):
        return None
    number = _NUMBER.search(address.query)
    return int(number[1]) if number else None


def _is_below(address: SplitResult, base: str | None) -> bool:
    """Return whether an address is one of the help desk, by http or https."""
    own = parts_of(base or "")
    return (
        own is not None
        and address.scheme in ("", "http", "https")
        and address.netloc.lower() == own.netloc.lower()
        and address.path.startswith(own.path.rstrip("/") + "/")
    )


def text_with_pictures(
    rich: str | None,
    content_format: str | None,
    base: str | None,
    formatting: Formatting,
    names: Mapping[int, str],
    begin: str = "",
) -> str:
    """Turn rich text into the tracker's markup, with its pictures in place.

    Args:
        rich: as for `plain_text`.
        content_format: as for `plain_text`.
        base: as for `plain_text`.
        formatting: the tracker's own text formatting.
        names: document number to attachment file name; pictures of other documents are shown as URLs.
        begin: plain text to put first, unless the text is empty.
    """
    marked = set[str]()

    def mark(picture: re.Match[str]) -> str:
        number = _number(picture[2], base)
        if number is None or PurePath(names.get(number, "")).suffix.lower() not in SHOWN_INLINE:
            return picture[0]
        marked.add(str(number))
        link, end = picture[1] or "", picture[3] or ""
        is_linked = bool(end) and _number(link, base) is not None  # to the picture's own file
        return f"{'' if is_linked else link}{_BEGIN}{number}{_END}{'' if is_linked else end}"

    shows = formatting != "plain" and _BEGIN not in (rich or "")
    said = plain_text(_PICTURE.sub(mark, rich or "") if shows else rich, content_format, base)
    text = begin + said if said else ""
    # the text itself may contain something that looks like a mark with another number
    parts = re.split(f"{_BEGIN}({'|'.join(marked)}){_END}", text) if marked else [text]
    # blanks next to a picture would turn the text there into code
    parts[:-1:2] = [before.rstrip() for before in parts[:-1:2]]
    parts[2::2] = [after.lstrip(_BLANKS) for after in parts[2::2]]
    written = [
        _picture(names[int(part)], formatting) if place % 2 else formatted(part.strip("\n"), formatting)
        for place, part in enumerate(parts)
        if part.strip()
    ]
    return "\n\n".join(written)


def _picture(name: str, formatting: Formatting) -> str:
    address = quote(name, safe="")
    return f"!{address}!" if formatting == "textile" else f"![]({address})"
