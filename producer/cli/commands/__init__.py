"""One module for each noun that commands are about; each command registers itself."""
