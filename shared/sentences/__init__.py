"""The one place where codes become sentences."""
