"""What is made on the tracker, exactly once."""
