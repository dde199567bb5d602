"""The tracker's HTTP API: its calls, its answers, its lists."""
