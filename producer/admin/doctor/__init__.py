"""Health checks of every part, one file per kind of check."""
