"""A person's data, taken out everywhere."""
