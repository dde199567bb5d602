"""What takes events in, and what people do."""
