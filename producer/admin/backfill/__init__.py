"""What was missed, brought in later."""
