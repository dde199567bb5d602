"""The state of everything, for monitoring."""
