"""What creations are built from."""
