"""Tracker projects for the helpdesk's."""
