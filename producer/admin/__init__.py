"""Actions of administrators, shared by the command line, the API and the pages."""
