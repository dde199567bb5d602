"""Read-only queries for the command line, the API and the pages."""
