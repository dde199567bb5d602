"""Whether every part is ready: one file per kind of check."""
