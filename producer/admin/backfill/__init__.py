"""Backfill: import of links, reconciliation, recovery and replay."""
