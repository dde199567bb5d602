"""Creations on the tracker, exactly once."""
