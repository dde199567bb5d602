"""Shared state in Redis: locks, circuit breaker, heartbeats, rate and concurrency limits, latency, check results."""
