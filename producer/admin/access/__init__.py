"""Accounts, passwords, sessions and API tokens."""
