"""The fuzz run: random input from everything that others can send or store, for a given time.

`python -m tests.fuzz --minutes 60`. The targets take turns. Each input is drawn from the seed, the target and the
number of the try, so that `--seed N --only TARGET --first NUMBER --tries 1` repeats a finding.

* `chance`: draws and mutates inputs.
* `over_http`: raw requests and events to producer and console.
* `of_templates`: templates.
* `of_the_tracker`: answers to every kind of call, in a ticket sync, a metadata synchronisation and the doctor.
* `in_redis`: values in the keys that deskbridge reads, and messages in the queue of a real worker.
"""
