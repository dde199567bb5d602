"""What a person does with deskbridge; the command line and the console are doors to it."""
