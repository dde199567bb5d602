"""Codes of what the doctor finds."""

from __future__ import annotations

from shared.codes.coded import Code


class Finding(Code):
    """What a check of the doctor has found."""
