"""What every key of ours in Redis begins with."""

from __future__ import annotations

OURS = "deskbridge:"
