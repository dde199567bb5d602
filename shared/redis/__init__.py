"""What is kept in Redis: locks, circuit breaker, heartbeats, rate limit, concurrency limit, priorities."""
