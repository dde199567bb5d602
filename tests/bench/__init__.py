"""`make bench`: the speed gates beside a plain Celery application; `make bench-long`: what they leave out."""
