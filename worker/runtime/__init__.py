"""The runtime that drives the workflows of many tickets at once."""
