"""What is stored, compared and counted in place of sentences (decision 13)."""
