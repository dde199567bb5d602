"""What was made on the tracker for a try: recorded before it is asked for, deleted by its mark."""
