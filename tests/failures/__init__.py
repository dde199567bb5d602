"""Staged failures: the cause and what fixes it, named by `doctor` or `ticket history` alone; repaired, it goes on."""
