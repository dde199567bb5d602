"""Chooses the body to send: the active template's, otherwise the 1.x body (SPEC section 9)."""
