"""Replaces invisible characters, and those that reorder the displayed text, with visible marks."""

from __future__ import annotations

import re

INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Direction controls, zero-width characters, fillers and tags, but not the variation selectors of emojis."""


def visible(text: str) -> str:
    """Return a text from outside for display: invisible and reordering characters become marks such as `<U+202E>`."""
    return INVISIBLE.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)
