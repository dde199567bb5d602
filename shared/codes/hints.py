"""Codes of hints: what may explain a refusal of the tracker."""

from __future__ import annotations

from shared.codes.coded import Code


class Hint(Code):
    """Why the tracker may have refused something, as far as the payload and the metadata tell."""
