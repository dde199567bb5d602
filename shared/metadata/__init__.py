"""The local copy of the tracker's metadata (SPEC 1.3)."""
