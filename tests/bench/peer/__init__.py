"""The peer of the benchmark: what a good engineer writes in an hour, without any guarantee.

It has an endpoint that verifies and validates, a Celery task with the whole event as its message, a table of links,
a requests session, and retries. If nothing goes wrong, it makes the same calls to the tracker as deskbridge.
If something does, it loses events (Redis flushed, worker killed: tasks are acknowledged before they run)
and creates twice (an answer lost after the POST, two concurrent tasks of one ticket).
"""
