"""Why the tracker refuses a request, told from its payload against the metadata cache."""
