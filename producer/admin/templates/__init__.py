"""Payload templates."""
