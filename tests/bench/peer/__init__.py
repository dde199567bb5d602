"""The peer of the benchmark: what a good engineer writes in an hour, without any guarantee.

An endpoint that validates and verifies, a Celery task with the whole event as its message, a table of links,
a requests session, retries. It makes the same calls to the tracker as deskbridge does where nothing goes wrong. Where
something does, it loses events (Redis flushed, worker killed: tasks are acknowledged before they are done)
and creates twice (an answer lost after the POST, two tasks of one ticket at once).
"""
