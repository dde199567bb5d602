"""Tables that only people's side reads."""
