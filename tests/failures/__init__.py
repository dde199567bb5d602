"""Staged failures: one command names the cause and the fix of each, and after the fix everything continues."""
