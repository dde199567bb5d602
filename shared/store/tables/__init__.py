"""Table definitions, and what they need from SQL."""
