"""User mappings, and work with the wrong author."""
