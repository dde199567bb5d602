"""Notifications to people: what is to be known, what of it is due, and how it is sent."""
