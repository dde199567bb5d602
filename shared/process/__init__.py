"""Basics of every process: settings, start-up, heartbeats, connections to other servers."""
