"""Which body is sent: the active template's, else the 1.x body (SPEC section 9)."""
