"""The process that sends to the tracker, and the one that starts what is due."""
