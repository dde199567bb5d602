"""Celery: application, message publisher and transport."""
