"""Queries to the help desk: the facts that its events lack, and its changes."""
