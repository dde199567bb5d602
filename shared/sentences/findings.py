"""What the doctor's findings say; `WHY`: what to do about them."""

from __future__ import annotations

from shared.sentences.template import Table

SENTENCES: Table = {}

WHY: Table = {}
