"""The workflow of a ticket: everything that is due for it, in its order."""
