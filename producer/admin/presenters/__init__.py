"""Output that the command line, the API and the pages share."""
