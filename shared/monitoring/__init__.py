"""How everything stands, for whoever monitors."""
