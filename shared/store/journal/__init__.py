"""The journal: every accepted event and its state."""
