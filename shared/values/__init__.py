"""What a single value from outside may be."""
