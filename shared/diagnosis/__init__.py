"""What is wrong with an installation: facts that were read once, and pure functions that derive the cause from them."""
