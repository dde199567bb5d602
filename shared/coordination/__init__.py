"""Everything that is kept in Redis: locks, the pause, the rate limit, signs of life, the doorbell."""
