"""What drives the workflows of many tickets at once."""
