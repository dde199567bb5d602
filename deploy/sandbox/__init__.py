"""What stands in for the outside world on one machine: the tracker and sample events.

Nothing here imports the product, so that a fault in the product can't hide in its own test bench.
"""
