"""Project mappings, and the creation of tracker projects."""
