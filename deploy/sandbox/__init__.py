"""Stand-ins for external systems on one machine: a mock tracker and sample events.

Nothing here imports the product, so that a bug in the product cannot hide in its own test bench.
"""
