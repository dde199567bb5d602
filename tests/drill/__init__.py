"""The drill: a whole deskbridge under load while everything around it fails, and an oracle that compares afterwards.

`python -m tests.drill --seed 7 --profile short`. Modules, in the order of a run:

* `profiles`: how long, how much; `people`, `documents`, `day`: what the helpdesk sends; `plan`: what goes wrong when.
* `stand`, `supervisor`: real servers and processes, started again when they end.
* `besieged`: many connections that never read, and honest traffic beside them.
* `load`: a helpdesk that sends until it is answered 202, and remembers what was.
* `inject`, `tracker`: the faults.
* `expect`, `oracle`, `pairing`: what must be on the tracker, and what is; `skipped`, `held`: what is not sent.
* `run`, `report`: one drill from start to end, and what to print.
"""
