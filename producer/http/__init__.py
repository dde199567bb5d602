"""What both HTTP processes share: their limits, their way to refuse."""
