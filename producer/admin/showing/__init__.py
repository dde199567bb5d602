"""What both doors show alike."""
