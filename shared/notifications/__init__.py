"""Notifications to people: their causes, when a message is due, and how it is sent."""
