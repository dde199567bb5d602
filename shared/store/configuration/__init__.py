"""The data that requests are built from."""
