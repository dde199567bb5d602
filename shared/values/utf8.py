"""Outgoing JSON in UTF-8: escapes would take three times the bytes for Cyrillic and twice the bytes for CJK."""

from __future__ import annotations

import json
from typing import Any

AS_IT_IS = json.JSONEncoder(ensure_ascii=False)


def json_bytes(value: Any) -> bytes:
    """Return a value as JSON in UTF-8.

    UTF-8 has no lone surrogates. A value that contains one is returned in ASCII with escapes; the receiver decides.
    """
    try:
        return AS_IT_IS.encode(value).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()
