"""Dry runs of payload templates (SPEC 4.3)."""
