"""systemd's units and the files that belong to them, shared by the wheel's `systemd install` and the .deb."""
