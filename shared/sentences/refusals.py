"""What refusals say: why deskbridge did not do what was asked; `WHY`: what to do about it."""

from __future__ import annotations

from shared.sentences.template import Table

SENTENCES: Table = {}

WHY: Table = {}
