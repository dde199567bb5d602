"""Staged failures: the cause and what fixes it, named by `doctor` or `trace` alone; repaired, it goes on."""
