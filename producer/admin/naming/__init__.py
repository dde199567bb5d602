"""Names instead of numbers."""
