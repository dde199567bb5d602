"""Changes of settings."""
