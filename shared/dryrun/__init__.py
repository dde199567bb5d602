"""Objects that dry runs create on the tracker: recorded before they are created, deleted by their marks."""
