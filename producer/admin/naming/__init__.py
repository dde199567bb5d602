"""Names in place of numbers."""
