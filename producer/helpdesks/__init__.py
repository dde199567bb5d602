"""Help desks with an event format of their own, one package each."""
