"""The units of systemd, and what belongs to them: one source for the wheel's `install-units` and for the .deb."""
