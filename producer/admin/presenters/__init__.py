"""What command line, API and pages show alike."""
