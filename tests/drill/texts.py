"""The texts of a tracker that stores other texts than were sent for a while."""

from __future__ import annotations

import re

PARAGRAPH = re.compile(r"<p>(.*)</p>", re.DOTALL)


def as_sent(text: str | None) -> str:
    """Return a text as it was sent, although the tracker may have made a paragraph of it."""
    paragraph = PARAGRAPH.fullmatch(text or "")
    return paragraph[1] if paragraph else text or ""
