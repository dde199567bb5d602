"""The units of systemd, and what belongs to them: one source for the wheel's `systemd install` and for the .deb."""
