"""The data that creations are built from: settings, mappings, people, metadata, templates."""
