"""Tables and queries that only the administration uses."""
