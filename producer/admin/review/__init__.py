"""Creations that wait for a person's decision."""
