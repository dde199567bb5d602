"""Codes and notices, which are stored, compared and counted in place of sentences (decision 13)."""
