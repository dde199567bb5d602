"""Logs, metrics, traces and error reports of a process."""
