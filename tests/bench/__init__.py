"""`make bench`: the speed gates, measured against a plain Celery application; `make bench-long`: the rest."""
