"""How the configured tracker is reached."""
