"""Event intake and administration."""
