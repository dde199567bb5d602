"""The fuzz run: what others can send or store, at random, for as long as it is given; and what must not come of it.

`python -m tests.fuzz --minutes 60`. Each target is tried in turn with inputs drawn from the seed, the target and the
number of the try, so that a finding can be repeated by `--seed N --only TARGET --first NUMBER --tries 1`.

* `chance`: how inputs are drawn and bent.
* `over_http`: raw requests and events to producer and console.
* `of_templates`: templates.
* `of_the_tracker`: answers to every kind of call, to a drain, and to a synchronisation.
* `in_redis`: what the keys that deskbridge reads may hold, and messages in the queue of a real worker.
"""
