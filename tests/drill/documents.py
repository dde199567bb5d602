"""The documents of the help desk's day: some must arrive, and some, of each kind, must not."""

from __future__ import annotations

import random
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from shared.notices.reasons import Reason

SIZES = (1, 20, 1_500, 40_000, 150_000, 300_000)
MOST_MB = 1
TOO_LARGE = MOST_MB * 1024 * 1024 + 1
REFUSED_TYPES = (".exe", "video/*")
SETTINGS: dict[str, Any] = {
    "sync_documents": "on",
    "document_max_mb": MOST_MB,
    "document_refused_types": REFUSED_TYPES,
}
SHARES = {
    "small": 24,
    "empty": 1,
    "too large": 1,
    "known to be too large": 1,
    "of a refused ending": 1,
    "of a refused type": 1,
    "private": 1,
    "gone": 1,
}
"""How often each kind of document is drawn, relative to the others."""
OFTEN = "image001.png"
"""A name that is common in tickets; the tracker gets it with the document's number."""


def draw_document(chance: random.Random, document_id: int) -> tuple[dict[str, Any], bytes | None]:
    """Draw a document as an event describes it, and its content; None if the help desk no longer has it."""
    (kind,) = chance.choices(list(SHARES), list(SHARES.values()))
    size = {"empty": 0, "too large": TOO_LARGE, "known to be too large": TOO_LARGE}.get(
        kind, chance.choice(SIZES)
    )
    says: dict[str, Any] = {"id": document_id, "mime_type": "application/pdf"}
    says["name"] = chance.choice((f"scan-{document_id}.pdf", "same.txt", "Übersicht 7.pdf", OFTEN))
    if kind == "known to be too large" or (kind != "too large" and chance.random() < 0.5):
        says["size"] = size
    if kind == "of a refused ending":
        says["name"] = f"setup-{document_id}.EXE"
    if kind == "of a refused type":
        says["mime_type"] = "video/mp4"
    if kind == "private":
        says["is_private"] = True
    content = chance.randbytes(size) if size <= max(SIZES) else bytes(size)
    return says, None if kind == "gone" else content


def why_not_at_once(document: Mapping[str, Any]) -> str | None:
    """Return the reason code if a document's event shows that it must not be sent; None if it must be fetched."""
    if document.get("is_private"):
        return Reason.PRIVATE_DOCUMENT
    if document["name"].lower().endswith(".exe") or document["mime_type"].startswith("video/"):
        return Reason.DOCUMENT_TYPE_REFUSED
    return Reason.DOCUMENT_TOO_LARGE if document.get("size", 0) >= TOO_LARGE else None


def why_not_once_fetched(content: bytes | None) -> str | None:
    """Return the reason code if a document's content shows that it must not be sent; None if it must arrive."""
    if content is None:
        return Reason.DOCUMENT_GONE
    if not content:
        return Reason.DOCUMENT_IS_EMPTY
    return Reason.DOCUMENT_TOO_LARGE if len(content) >= TOO_LARGE else None


def file_name(document: Mapping[str, Any]) -> str:
    """Return the name that a document has on the tracker."""
    return f"image001-{document['id']}.png" if document["name"] == OFTEN else str(document["name"])


def digest(content: bytes) -> str:
    """Return the digest of a file's content, as the tracker computes it."""
    return sha256(content).hexdigest()
