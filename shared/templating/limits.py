"""How much a template may ask for; beyond these it is a TemplateError and the 1.x body is sent."""

from __future__ import annotations

BODY_BYTES = 64 * 1024
JSON_DEPTH = 20
TAGS = 100
FILTERS_PER_TAG = 6
DEPTH = 4
"""Blocks inside blocks, and parentheses inside parentheses."""
ITEMS_PER_EACH = 200
OUTPUT_BYTES = 1024 * 1024
SECONDS = 0.5
