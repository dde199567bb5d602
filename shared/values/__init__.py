"""Rules for single values from outside."""
