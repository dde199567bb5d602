"""HTTP code that producer and console share: limits, and refusals."""
