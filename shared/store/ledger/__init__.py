"""Creations on the tracker, each carried out exactly once."""
