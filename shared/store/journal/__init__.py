"""The journal: accepted events and their processing until each has ended."""
