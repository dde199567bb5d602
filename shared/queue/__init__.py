"""Celery: its application, what is published to it, and what is taken from it."""
