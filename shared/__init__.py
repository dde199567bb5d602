"""Code that all processes share."""
