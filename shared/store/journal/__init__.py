"""Events, until each has ended."""
