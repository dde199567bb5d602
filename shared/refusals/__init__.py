"""Explains why the tracker refuses a request, by checking its payload against the metadata cache."""
