"""What every process does with the tables, one transaction at a time."""
