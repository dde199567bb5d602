"""The console: pages and an API, as front ends to the administration."""
