"""How the tables look in SQL."""
