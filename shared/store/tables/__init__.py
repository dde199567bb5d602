"""Table definitions and SQL helpers."""
