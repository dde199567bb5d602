"""The state of the installation, for monitoring."""
