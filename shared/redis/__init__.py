"""Everything that is kept in Redis: locks, the pause, the rate limit, heartbeat, the publisher."""
