"""What there is to look at."""
