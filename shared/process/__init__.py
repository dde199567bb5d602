"""What a process starts with."""
