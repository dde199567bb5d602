"""What hints say: why the tracker may have refused something; `WHY`: more about it, where there is more."""

from __future__ import annotations

from shared.sentences.template import Table

SENTENCES: Table = {}

WHY: Table = {}
