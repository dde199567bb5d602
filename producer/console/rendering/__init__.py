"""Rendering of the pages."""
