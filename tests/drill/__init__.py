"""The drill: a whole deskbridge under load while everything around it fails, then an oracle that compares the results.

`python -m tests.drill --seed 7 --profile short`. Modules, in the order of a run:

* `profiles`: duration and size; `people`, `documents`, `day`: what the help desk sends; `plan`: the faults and times.
* `stand`, `supervisor`: real servers and processes, restarted when they end.
* `besieged`: many connections that never read, with honest traffic at the same time.
* `load`: a help desk that sends until it gets a 202, and records accepted events.
* `inject`, `tracker`: the faults.
* `expect`, `oracle`, `pairing`: what must be on the tracker, and what is; `skipped`, `held`: what is not sent.
* `run`, `report`: one drill from start to end, and its report.
"""
