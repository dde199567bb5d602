"""What is stored, compared and counted in place of sentences (docs/decisions/0013)."""
