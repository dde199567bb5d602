"""`make bench`: deskbridge beside a plain Celery task that makes the same calls, in one run, as ratios."""
